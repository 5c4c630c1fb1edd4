//! The digest of anything that serialises: SHA-256 over a compact encoding, fed as it comes, so that
//! a fabric of 4,096 switches is digested in a few milliseconds.
//!
//! Numbers are little-endian in their own width, texts and sequences carry their length, enums the
//! number of their variant; names of fields are left out. Never read back, only compared.

use std::fmt::Display;

use serde::ser::{self, Serialize};
use sha2::{Digest as _, Sha256};

/// Bytes gathered before they are hashed.
const GATHERED: usize = 4096;

/// A digest under way.
pub struct Digest {
    hash: Sha256,
    bytes: Vec<u8>,
}

impl Digest {
    pub fn new() -> Self {
        Self { hash: Sha256::new(), bytes: Vec::with_capacity(GATHERED + 64) }
    }

    /// Adds a value.
    pub fn add(&mut self, value: &impl Serialize) {
        value.serialize(self).expect("plain data encodes");
    }

    /// The first 8 bytes as 16 hexadecimal digits.
    pub fn finish(mut self) -> String {
        self.hash.update(&self.bytes);
        self.hash.finalize().iter().take(8).map(|b| format!("{b:02x}")).collect()
    }

    fn put(&mut self, bytes: &[u8]) {
        if self.bytes.len() + bytes.len() > GATHERED {
            self.hash.update(&self.bytes);
            self.bytes.clear();
        }
        self.bytes.extend_from_slice(bytes);
    }

    fn length(&mut self, length: usize) {
        self.put(&(length as u64).to_le_bytes());
    }
}

/// A sequence or map whose length is not known beforehand: nothing that is planned has one.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unencodable(String);

impl ser::Error for Unencodable {
    fn custom<T: Display>(words: T) -> Self {
        Self(words.to_string())
    }
}

type Done = Result<(), Unencodable>;

macro_rules! numbers {
    ($($method:ident $kind:ty),*) => {
        $(fn $method(self, value: $kind) -> Done {
            self.put(&value.to_le_bytes());
            Ok(())
        })*
    };
}

impl<'a> ser::Serializer for &'a mut Digest {
    type Ok = ();
    type Error = Unencodable;
    type SerializeSeq = &'a mut Digest;
    type SerializeTuple = &'a mut Digest;
    type SerializeTupleStruct = &'a mut Digest;
    type SerializeTupleVariant = &'a mut Digest;
    type SerializeMap = &'a mut Digest;
    type SerializeStruct = &'a mut Digest;
    type SerializeStructVariant = &'a mut Digest;

    numbers!(
        serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64,
        serialize_u8 u8, serialize_u16 u16, serialize_u32 u32, serialize_u64 u64,
        serialize_f32 f32, serialize_f64 f64
    );

    /// Addresses and the like by their bytes.
    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(self, value: bool) -> Done {
        self.serialize_u8(value.into())
    }

    fn serialize_char(self, value: char) -> Done {
        self.serialize_u32(value.into())
    }

    fn serialize_str(self, value: &str) -> Done {
        self.serialize_bytes(value.as_bytes())
    }

    fn serialize_bytes(self, value: &[u8]) -> Done {
        self.length(value.len());
        self.put(value);
        Ok(())
    }

    fn serialize_none(self) -> Done {
        self.serialize_u8(0)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
        self.put(&[1]);
        value.serialize(self)
    }

    fn serialize_unit(self) -> Done {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Done {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, index: u32, _: &'static str) -> Done {
        self.serialize_u32(index)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Done {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        value: &T,
    ) -> Done {
        self.put(&index.to_le_bytes());
        value.serialize(self)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self, Unencodable> {
        self.length(length.ok_or_else(|| Unencodable("a sequence of unknown length".into()))?);
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Unencodable> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Unencodable> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Unencodable> {
        self.put(&index.to_le_bytes());
        Ok(self)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self, Unencodable> {
        self.serialize_seq(length)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Unencodable> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Unencodable> {
        self.put(&index.to_le_bytes());
        Ok(self)
    }
}

macro_rules! compound {
    ($($of:ident $method:ident ($($name:ty)?)),*) => {
        $(impl ser::$of for &mut Digest {
            type Ok = ();
            type Error = Unencodable;

            fn $method<T: Serialize + ?Sized>(&mut self, $(_: $name,)? value: &T) -> Done {
                value.serialize(&mut **self)
            }

            fn end(self) -> Done {
                Ok(())
            }
        })*
    };
}

compound!(
    SerializeSeq serialize_element (),
    SerializeTuple serialize_element (),
    SerializeTupleStruct serialize_field (),
    SerializeTupleVariant serialize_field (),
    SerializeStruct serialize_field (&'static str),
    SerializeStructVariant serialize_field (&'static str)
);

impl ser::SerializeMap for &mut Digest {
    type Ok = ();
    type Error = Unencodable;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Done {
        key.serialize(&mut **self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        value.serialize(&mut **self)
    }

    fn end(self) -> Done {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &impl Serialize) -> String {
        let mut digest = Digest::new();
        digest.add(value);
        digest.finish()
    }

    #[test]
    fn the_encoding_is_fixed() {
        let value = (1u16, Some("ab"), [false, true], vec![7u8], None::<u8>);
        let bytes =
            [1, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, b'a', b'b', 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0];
        let expected: String =
            Sha256::digest(bytes).iter().take(8).map(|b| format!("{b:02x}")).collect();
        assert_eq!(of(&value), expected);
    }

    #[test]
    fn where_one_text_ends_and_the_next_begins_counts() {
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&vec![vec![1u8], vec![]]), of(&vec![vec![], vec![1u8]]));
        let long = "x".repeat(3 * GATHERED);
        assert_ne!(of(&long), of(&long[1..].to_owned()));
    }
}
