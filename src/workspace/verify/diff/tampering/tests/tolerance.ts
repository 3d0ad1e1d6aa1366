import type { Assertion } from '../../tests/test-case.ts'

/** Whether the same comparison takes more for equal than before. */
export function isWider(before: Assertion, after: Assertion): boolean {
  const [one, other] = [toleranceOf(before.text), toleranceOf(after.text)]
  if (one === undefined || other === undefined || one.kind !== other.kind) return false
  return one.kind === 'digits' ? other.value < one.value : other.value > one.value * 1.001
}

interface Tolerance {
  kind: 'digits' | 'distance'
  value: number
}

function toleranceOf(text: string): Tolerance | undefined {
  const close = /toBeCloseTo\((?:[^(),]|\([^()]*\))+,\s*(\d+)\)/.exec(text) ?? /\bplaces\s*=\s*(\d+)/.exec(text)
  if (close) return { kind: 'digits', value: Number(close[1]) }
  const far =
    /\b(?:rel|abs|rel_tol|abs_tol|delta|rtol|atol|epsilon)\s*=\s*(-?[\d.]+(?:e[+-]?\d+)?)/.exec(text) ??
    /(?:InDelta|InEpsilon)f?\((?:.*),\s*([\d.]+(?:e[+-]?\d+)?)(?:,\s*"[^"]*".*)?\)$/.exec(text) ??
    /(?:abs\(\)?|Abs\(|\.abs\(\))[^<>]*(?:<|>)=?\s*([\d.]+(?:e[+-]?\d+)?)/.exec(text)
  return far ? { kind: 'distance', value: Number(far[1]) } : undefined
}
