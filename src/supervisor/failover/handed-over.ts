import type { AgentChoice } from '../../domain/agents/choice.ts'
import type { HandOver, HandOverCause, RestingAgent } from '../../domain/agents/hand-over.ts'
import type { SessionRow } from '../../store/tables.ts'

export interface Change {
  to: AgentChoice
  account: string
  cause: HandOverCause
  now: number
  /** When the vendor of the one that leaves lets it go on. */
  until: number | null
}

type Handed = Pick<SessionRow, 'agent' | 'account' | 'vendor_id' | 'model' | 'options'>

/**
 * The row of a session that another agent goes on with. The one that leaves keeps its conversation there; one that comes back finds its
 * own again. Pure.
 */
export function handedOver(
  row: Handed & Pick<SessionRow, 'cost_usd'>,
  { to, account, cause, now, until }: Change,
): Handed {
  const before = row.options.handed
  const returning = before?.resting.find(({ choice }) => choice.name === to.name)
  const leaving: RestingAgent = {
    choice: row.options.chosen ?? { kind: 'claude', name: row.agent },
    ...{ account: row.account, vendor_id: row.vendor_id, model: row.model, left_at: now, until, why: cause },
  }
  const others = (before?.resting ?? []).filter(({ choice }) => choice.name !== to.name && choice.name !== row.agent)
  const handed: HandOver = {
    resting: [...others, leaving],
    broken: [...(before?.broken ?? []), ...(cause === 'broken' ? [row.agent] : [])],
    ...{ at: now, from: row.agent, why: cause, cost_usd: row.cost_usd },
    ...(returning && { away_since: returning.left_at }),
  }
  const model = returning?.model ?? null
  const { model: _, resume: __, ...options } = row.options
  return {
    agent: to.name,
    account,
    vendor_id: returning?.vendor_id ?? null,
    model,
    options: { ...options, ...(model !== null && { model }), chosen: to, handed },
  }
}
