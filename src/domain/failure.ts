import type { FailureKind } from './session.ts'

/**
 * Whether the same may work a moment later. What is not named here needs somebody: a login, money, another model, another
 * task. A limit is neither: it has a time of its own.
 */
const TRANSIENT: ReadonlySet<FailureKind> = new Set(['overloaded', 'server', 'network', 'agent_crashed'])

/** Whether a failure is worth another try soon. */
export function isTransient(kind: FailureKind): boolean {
  return TRANSIENT.has(kind)
}
