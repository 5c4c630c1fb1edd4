//! Small finite fields, and the projective planes over them; constructions derive wirings from
//! these planes.

/// The finite field of `q` elements, where `q` is a prime `p`, its square or another small power.
/// Elements are numbered from 0: number `a + b p + c p^2` stands for the polynomial
/// `a + b x + c x^2` with coefficients modulo `p`.
#[derive(Debug, Clone)]
pub struct Field {
    q: usize,
    add: Vec<u8>,
    multiply: Vec<u8>,
}

impl Field {
    /// Builds the field of `q` elements, where `q` is a prime up to 31 or 4, 8, 9, 16, 25 or 27.
    #[must_use]
    pub fn new(q: usize) -> Option<Self> {
        let (p, reduce): (usize, &[usize]) = match q {
            // x^n as a polynomial of lower degree, lowest coefficient first.
            4 => (2, &[1, 1]),
            8 => (2, &[1, 1, 0]),
            16 => (2, &[1, 1, 0, 0]),
            9 => (3, &[2, 0]),
            27 => (3, &[2, 1, 0]),
            25 => (5, &[3, 0]),
            2..=31 if (2..q).all(|d| !q.is_multiple_of(d)) => (q, &[]),
            _ => return None,
        };
        let n = reduce.len().max(1);
        let digits = |mut a: usize| {
            let mut digits = vec![0; n];
            for digit in &mut digits {
                *digit = a % p;
                a /= p;
            }
            digits
        };
        let number = |digits: &[usize]| digits.iter().rev().fold(0, |sum, d| sum * p + d) as u8;
        let (mut add, mut multiply) = (Vec::new(), Vec::new());
        for a in 0..q {
            for b in 0..q {
                let (x, y) = (digits(a), digits(b));
                let sum: Vec<usize> = x.iter().zip(&y).map(|(x, y)| (x + y) % p).collect();
                add.push(number(&sum));
                let mut product = vec![0; 2 * n - 1];
                for (i, x) in x.iter().enumerate() {
                    for (j, y) in y.iter().enumerate() {
                        product[i + j] = (product[i + j] + x * y) % p;
                    }
                }
                for high in (n..product.len()).rev() {
                    let factor = std::mem::take(&mut product[high]);
                    for (low, r) in reduce.iter().enumerate() {
                        product[high - n + low] = (product[high - n + low] + factor * r) % p;
                    }
                }
                multiply.push(number(&product[..n]));
            }
        }
        Some(Self { q, add, multiply })
    }

    fn add(&self, a: u8, b: u8) -> u8 {
        self.add[a as usize * self.q + b as usize]
    }

    fn multiply(&self, a: u8, b: u8) -> u8 {
        self.multiply[a as usize * self.q + b as usize]
    }

    /// Returns the points of the projective plane as triples whose first nonzero coordinate is 1. Lines have the
    /// same triples.
    #[must_use]
    pub fn points(&self) -> Vec<[u8; 3]> {
        let q = self.q as u8;
        let mut points = vec![[0, 0, 1]];
        points.extend((0..q).map(|z| [0, 1, z]));
        points.extend((0..q).flat_map(|y| (0..q).map(move |z| [1, y, z])));
        points
    }

    /// Whether a point lies on a line.
    #[must_use]
    pub fn incident(&self, point: [u8; 3], line: [u8; 3]) -> bool {
        let product = |i: usize| self.multiply(point[i], line[i]);
        self.add(self.add(product(0), product(1)), product(2)) == 0
    }

    /// Returns lines of which no three meet in one point: those of the dual conic.
    #[must_use]
    pub fn conic(&self) -> Vec<[u8; 3]> {
        let mut lines = vec![[0, 0, 1]];
        lines.extend((0..self.q as u8).map(|t| [1, t, self.multiply(t, t)]));
        lines
    }
}
