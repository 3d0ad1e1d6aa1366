// Imports nothing: this is what remains when everything else failed, and it must not fail with it.

/** What to do about a refusal that is ours and not the policy's. */
export const LOOK = 'Go on without this call, or let a person look: pcc hooks doctor'

/** The events of each vendor that decide about a call. */
const DECIDING: Readonly<Record<string, readonly string[]>> = {
  claude: ['PreToolUse', 'PermissionRequest'],
  codex: ['PreToolUse', 'PermissionRequest'],
  gemini: ['BeforeTool'],
  copilot: ['preToolUse', 'permissionRequest'],
}

/**
 * Refuses an event that decides about a call, and is silent at every other: a stop that is refused because we are broken would never end.
 * Every vendor takes exit code 2 for a refusal; Copilot passes the reason on only from JSON. An unknown vendor is refused too.
 */
export function refuseHook(
  vendor: string,
  native: string,
  reason: string,
): { stdout: string; stderr: string; exit: number } {
  const deciding = Object.hasOwn(DECIDING, vendor) ? DECIDING[vendor] : undefined
  if (deciding && !deciding.includes(native)) return { stdout: '', stderr: '', exit: 0 }
  const because = reason.trim() || 'pcc could not judge this call.'
  if (vendor !== 'copilot') return { stdout: '', stderr: because, exit: 2 }
  const answer =
    native === 'preToolUse'
      ? { permissionDecision: 'deny', permissionDecisionReason: because }
      : { behavior: 'deny', message: because }
  return { stdout: JSON.stringify(answer), stderr: because, exit: 0 }
}
