pub struct State(u8);

pub type Alias = State;

impl State {
    /// Makes a circle with `machine.rs`, which names the type.
    fn step(&mut self) {
        self.turn();
    }

    /// Makes none: the method stands here.
    fn turn_back(&self) {
        self.beside();
    }

    fn beside(&self) {}
}
