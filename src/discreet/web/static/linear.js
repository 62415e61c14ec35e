// Small symmetric systems: A = L L^T once, then any number of right-hand sides.

// The lower triangle of A (d x d, by rows) is replaced by L; false where A is not positive definite.
export function factorise(A, d) {
  for (let i = 0; i < d; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = A[i * d + j];
      for (let k = 0; k < j; k++) sum -= A[i * d + k] * A[j * d + k];
      if (i !== j) A[i * d + j] = sum / A[j * d + j];
      else if (sum > 0) A[i * d + i] = Math.sqrt(sum);
      else return false;
    }
  }
  return true;
}

// x with L L^T x = b.
export function substitute(L, d, b) {
  const x = Float64Array.from(b);
  for (let i = 0; i < d; i++) {
    for (let k = 0; k < i; k++) x[i] -= L[i * d + k] * x[k];
    x[i] /= L[i * d + i];
  }
  for (let i = d - 1; i >= 0; i--) {
    for (let k = i + 1; k < d; k++) x[i] -= L[k * d + i] * x[k];
    x[i] /= L[i * d + i];
  }
  return x;
}
