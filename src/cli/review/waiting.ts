import type { EscalationView } from '../../domain/escalation.ts'
import type { Client } from '../client.ts'
import type { Context } from '../context.ts'
import { ago } from '../render/format.ts'
import { cut, firstLine } from '../render/text.ts'

/** `pcc review` without a task: the work that waits for a person's look, oldest first. */
export async function listReviews(client: Client, { json, out, terminal }: Context): Promise<void> {
  const { escalations } = await client.request<{ escalations: EscalationView[] }>('GET', '/escalations')
  const reviews = escalations.filter(({ kind, state }) => kind === 'review' && state === 'open')
  if (json) return out(JSON.stringify({ reviews }, null, 2))
  if (reviews.length === 0) {
    return out('Nothing waits for your review. What waits for another decision: pcc pending')
  }
  // Its target names the task and its title.
  for (const { target, created_at } of reviews) {
    out(cut(`${firstLine(target)}  (${ago(Date.now() - created_at)})`, terminal.width))
  }
  out('')
  out(`Look at one with: pcc review ${reviews[0]?.target.split(' ')[0] ?? '<task>'}`)
}
