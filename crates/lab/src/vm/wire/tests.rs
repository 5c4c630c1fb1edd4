use super::*;

fn requests() -> Vec<GuestRequest> {
    vec![
        GuestRequest::Exec {
            argv: vec!["ip".into(), "-j".into()],
            env: vec![("A".into(), "b c".into())],
            cwd: None,
            stdin: true,
        },
        GuestRequest::Stdin,
        GuestRequest::Signal { number: 15 },
        GuestRequest::Put { path: "/a b".into(), mode: 0o755, size_bytes: 1 << 40 },
        GuestRequest::Data,
        GuestRequest::Get { path: "/ü".into() },
        GuestRequest::Ping,
        GuestRequest::Stat { path: "/x".into() },
        GuestRequest::Poweroff,
    ]
}

#[test]
fn frames_survive_any_cut() {
    let payload: Vec<u8> = (0..=255).collect();
    let mut stream = Vec::new();
    for request in requests() {
        stream.extend(encode(&request, &payload).unwrap());
    }
    for step in [1, 2, 3, 7, 8, 9, 100, stream.len()] {
        let mut decoder = Decoder::default();
        let mut seen = Vec::new();
        for part in stream.chunks(step) {
            decoder.push(part);
            while let Some((request, bytes)) = decoder.frame::<GuestRequest>().unwrap() {
                assert_eq!(bytes, payload);
                seen.push(request);
            }
        }
        decoder.finish().unwrap();
        assert_eq!(seen, requests(), "in steps of {step}");
    }
}

#[test]
fn truncated_stream_is_an_error_at_its_end() {
    let frame = encode(&GuestReply::Exit { code: 3 }, b"xyz").unwrap();
    for cut in 1..frame.len() {
        let mut decoder = Decoder::default();
        decoder.push(&frame[..cut]);
        assert!(decoder.frame::<GuestReply>().unwrap().is_none());
        let error = decoder.finish().unwrap_err();
        assert!(matches!(error, FrameError::Truncated { bytes } if bytes == cut));
    }
}

#[test]
fn sizes_beyond_the_limits_are_refused_before_they_arrive() {
    let cases = [
        (0, 0),
        (MAX_HEADER_BYTES + 1, 0),
        (1, MAX_PAYLOAD_BYTES + 1),
        (u32::MAX as usize, u32::MAX as usize),
    ];
    for (header, payload) in cases {
        let mut decoder = Decoder::default();
        decoder.push(&(header as u32).to_le_bytes());
        decoder.push(&(payload as u32).to_le_bytes());
        assert!(matches!(decoder.frame::<GuestRequest>(), Err(FrameError::Size { .. })));
    }
    let big = vec![0; MAX_PAYLOAD_BYTES + 1];
    assert!(matches!(encode(&GuestRequest::Data, &big), Err(FrameError::Size { .. })));
    assert!(encode(&GuestRequest::Data, &big[1..]).is_ok());
}

#[test]
fn unknown_header_is_an_error() {
    let mut decoder = Decoder::default();
    decoder.push(&encode(&serde_json::json!({ "kind": "fly" }), b"").unwrap());
    assert!(matches!(decoder.frame::<GuestRequest>(), Err(FrameError::Header(_))));
}

#[test]
fn greeting_is_found_behind_the_remains_of_an_earlier_client() {
    let old = encode(&GuestRequest::Data, &[7; 1000]).unwrap();
    for cut in [0, 5, 8, 20, 500, old.len()] {
        let mut decoder = Decoder::default();
        decoder.push(&old[..cut]);
        assert_eq!(decoder.greeting(HELLO), None);
        for byte in greeting(HELLO, 0x0102_0304_0506_0708) {
            assert_eq!(decoder.greeting(HELLO), None);
            decoder.push(&[byte]);
        }
        decoder.push(&encode(&GuestRequest::Ping, b"").unwrap());
        assert_eq!(decoder.greeting(HELLO), Some((0x0102_0304_0506_0708, VERSION)));
        let frame = decoder.frame::<GuestRequest>().unwrap();
        assert_eq!(frame, Some((GuestRequest::Ping, Vec::new())));
    }
}

#[test]
fn greeting_at_a_frame_boundary_is_no_frame() {
    let mut decoder = Decoder::default();
    decoder.push(&greeting(HELLO, 9));
    assert!(decoder.frame::<GuestRequest>().is_err());
    assert_eq!(decoder.greeting(HELLO), Some((9, VERSION)));
}

#[test]
fn arbitrary_bytes_never_panic() {
    let mut state = 1u64;
    for _ in 0..2000 {
        let mut decoder = Decoder::default();
        for _ in 0..4 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let small = (state >> 60) as u32;
            decoder.push(&small.to_le_bytes());
            decoder.push(&state.to_be_bytes());
            while let Ok(Some(_)) = decoder.frame::<GuestRequest>() {}
            decoder.greeting(HELLO);
        }
    }
}
