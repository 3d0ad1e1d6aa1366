/** What a call says that is to run in the sandbox. */
const FENCED = new Set<unknown>([undefined, null, 'use_default'])

/** Whether the model wants this call to run outside of the sandbox, or with more than it gives. Arguments are as the model wrote them. */
export function wantsOut(args: string): boolean {
  try {
    const given = JSON.parse(args) as Record<string, unknown>
    return !FENCED.has(given['sandbox_permissions']) || given['with_escalated_permissions'] === true
  } catch {
    return true // nobody can tell
  }
}
