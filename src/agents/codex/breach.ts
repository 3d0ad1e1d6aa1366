import type { Calls } from './messages/calls.ts'
import { POLICY } from './start/policy.ts'
import { ItemTold, ThreadSettings, Typed } from './wire/schemas.ts'

/** Why a session must end at once, by what Codex tells of this conversation or another: something ran without having been judged, or may. */
export function breachIn(method: string, params: unknown, calls: Calls): string | undefined {
  const call = unjudgedIn(method, params, calls)
  if (call !== undefined) return `A tool call ran without being judged, so the session was ended: ${call}`
  const settings = method === 'thread/settings/updated' ? ThreadSettings.safeParse(params).data : undefined
  const { approvalPolicy, approvalsReviewer } = settings?.threadSettings ?? POLICY
  if (approvalPolicy === POLICY.approvalPolicy && approvalsReviewer === POLICY.approvalsReviewer) return undefined
  return 'Codex changed its approval policy by itself, so the session was ended.'
}

function unjudgedIn(method: string, params: unknown, calls: Calls): string | undefined {
  const item = method === 'item/completed' ? ItemTold.safeParse(params).data?.item : undefined
  const typed = method === 'item/commandExecution/terminalInteraction' ? Typed.safeParse(params).data : undefined
  return (item && calls.unjudged(item)) ?? (typed?.stdin ? `input to a running command (${typed.itemId})` : undefined)
}
