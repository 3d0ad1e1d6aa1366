// The few distributions that learning and the report need. Pure; accurate to about ten digits, which tests compare with published tables.

/** The probability that a Beta variable is below `x`. */
export function betaCdf(x: number, alpha: number, beta: number): number {
  if (x <= 0) return 0
  if (x >= 1) return 1
  // The continued fraction converges fast on the near side of the mean only.
  if (x > (alpha + 1) / (alpha + beta + 2)) return 1 - betaCdf(1 - x, beta, alpha)
  const front = Math.exp(
    logGamma(alpha + beta) - logGamma(alpha) - logGamma(beta) + alpha * Math.log(x) + beta * Math.log1p(-x),
  )
  return (front * continuedFraction(x, alpha, beta)) / alpha
}

/** The value below which a Beta variable is with the given probability. */
export function betaQuantile(share: number, alpha: number, beta: number): number {
  return bisect(x => betaCdf(x, alpha, beta) - share, 0, 1)
}

/** How many standard errors a two-sided interval of 95 % spans with so many degrees of freedom (Student's t). */
export function studentBound(freedom: number): number {
  const twoSided = (t: number) => betaCdf(freedom / (freedom + t * t), freedom / 2, 0.5)
  return bisect(t => 0.05 - twoSided(t), 0, 1000)
}

export interface Interval {
  estimate: number
  low: number
  high: number
}

/** 95 % of a normal distribution. */
const Z = 1.959964

/** Wilson's interval of a share: it stays between 0 and 1 and holds for small numbers, too. */
export function wilson(successes: number, count: number): Interval {
  if (count === 0) return { estimate: Number.NaN, low: 0, high: 1 }
  const share = successes / count
  const middle = share + (Z * Z) / (2 * count)
  const reach = Z * Math.sqrt((share * (1 - share)) / count + (Z * Z) / (4 * count * count))
  const scale = 1 + (Z * Z) / count
  return {
    estimate: share,
    low: Math.max(0, (middle - reach) / scale),
    high: Math.min(1, (middle + reach) / scale),
  }
}

/** The difference of two shares with Newcombe's interval, which is made from those of Wilson. */
export function differenceOfShares(first: [successes: number, count: number], second: [number, number]): Interval {
  const [a, b] = [wilson(...first), wilson(...second)]
  const estimate = a.estimate - b.estimate
  return {
    estimate,
    low: estimate - Math.hypot(a.estimate - a.low, b.high - b.estimate),
    high: estimate + Math.hypot(a.high - a.estimate, b.estimate - b.low),
  }
}

/** The difference of two means with Welch's interval; undefined if a sample has fewer than two values. */
export function differenceOfMeans(first: readonly number[], second: readonly number[]): Interval | undefined {
  if (first.length < 2 || second.length < 2) return undefined
  const [a, b] = [describe(first), describe(second)]
  const estimate = a.mean - b.mean
  const error = a.error + b.error
  if (error === 0) return { estimate, low: estimate, high: estimate }
  const freedom = error ** 2 / (a.error ** 2 / (first.length - 1) + b.error ** 2 / (second.length - 1))
  const reach = studentBound(freedom) * Math.sqrt(error)
  return { estimate, low: estimate - reach, high: estimate + reach }
}

function describe(values: readonly number[]): { mean: number; error: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1)
  return { mean, error: variance / values.length }
}

function bisect(rises: (x: number) => number, from: number, to: number): number {
  let [low, high] = [from, to]
  for (let step = 0; step < 45; step += 1) {
    const middle = (low + high) / 2
    if (rises(middle) < 0) low = middle
    else high = middle
  }
  return (low + high) / 2
}

/** Lentz's method for the continued fraction of the incomplete beta function. */
function continuedFraction(x: number, alpha: number, beta: number): number {
  const nonZero = (value: number) => (Math.abs(value) < 1e-30 ? 1e-30 : value)
  let c = 1
  let d = 1 / nonZero(1 - ((alpha + beta) * x) / (alpha + 1))
  let value = d
  for (let m = 1; m <= 300; m += 1) {
    const even = (m * (beta - m) * x) / ((alpha + 2 * m - 1) * (alpha + 2 * m))
    d = 1 / nonZero(1 + even * d)
    c = nonZero(1 + even / c)
    value *= d * c
    const odd = (-(alpha + m) * (alpha + beta + m) * x) / ((alpha + 2 * m) * (alpha + 2 * m + 1))
    d = 1 / nonZero(1 + odd * d)
    c = nonZero(1 + odd / c)
    value *= d * c
    if (Math.abs(d * c - 1) < 1e-12) break
  }
  return value
}

/** The coefficients of Lanczos for g = 7. */
const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
]

function logGamma(x: number): number {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x)
  const [first = 1, ...rest] = LANCZOS
  const sum = rest.reduce((total, coefficient, at) => total + coefficient / (x + at), first)
  const t = x + 6.5
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum)
}
