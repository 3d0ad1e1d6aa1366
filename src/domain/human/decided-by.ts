/** Who decides without a person: the policy, a rule, a brain (`brain:rules`), an earlier answer, a deadline, a guard. Whoever else is named is somebody. */
const AUTOMATIC: ReadonlySet<string> = new Set(['policy', 'rule', 'brain', 'precedent', 'memory', 'deadline', 'guard'])

/** Whether a decision came about without a person. */
export function isAutomatic(by: string): boolean {
  return AUTOMATIC.has(by.split(':', 1)[0] ?? by)
}
