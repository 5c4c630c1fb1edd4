/// Uses nothing that leads to the type, so it has no value of it: the method is another.
fn other(wheel: foreign::Wheel) {
    wheel.shown();
}
