use crate::state::Alias;

impl Alias {
    pub(crate) fn turn(&mut self) {}

    pub(crate) fn shown(&self) -> String {
        String::new()
    }

    pub(crate) fn made() -> Self {
        Self(1)
    }

    fn own(&self) {}
}
