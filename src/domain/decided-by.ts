/** Who decides without a person: the policy, a rule, the brain, an earlier answer. Whoever else is named is somebody. */
const AUTOMATIC: ReadonlySet<string> = new Set(['policy', 'rule', 'brain', 'precedent', 'memory'])

/** Whether a decision came about without a person. */
export function isAutomatic(by: string): boolean {
  return AUTOMATIC.has(by)
}
