/// Calls by a value, in a macro, and by the type; `own` is private to the other file, `turn` takes nothing.
fn calls(state: crate::State, wheel: Wheel) {
    println!("{}", state.shown());
    crate::State::made();
    wheel.own();
    wheel.turn(1);
}
