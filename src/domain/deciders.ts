// Without zod, so that drawing events need not load it.

/** The deciders that are not people: the policy, a rule, a brain (`brain:rules`), an earlier answer, a deadline, a guard. Any other name is a person. */
export const AUTOMATIC_DECIDERS = ['policy', 'rule', 'brain', 'precedent', 'memory', 'deadline', 'guard'] as const
const AUTOMATIC: ReadonlySet<string> = new Set(AUTOMATIC_DECIDERS)

/** Whether a decision was made without a person. */
export function isAutomatic(by: string): boolean {
  return AUTOMATIC.has(by.split(':', 1)[0] ?? by)
}
