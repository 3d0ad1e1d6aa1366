import { AppError } from '../../base/errors.ts'
import type { Run } from '../run.ts'

type Resume = NonNullable<Run['open']['resume']>

/** One conversation has one writer: Claude Code itself lets two processes go on from the same one, and they mix. */
export class HeldConversations {
  /** Those of sessions that are being started and are not among the live ones yet. */
  readonly #starting = new Set<string>()

  /** Takes a conversation for a session that will be live when this is let go; refused where another has it. A copy is free. */
  take(resume: Resume | undefined, live: Iterable<Run>): Disposable | undefined {
    if (!resume || resume.fork) return undefined
    const { vendorId } = resume
    const holder = [...live].find(run => run.row.state !== 'ended' && conversationsOf(run).includes(vendorId))
    if (holder) throw new AppError('conversation_live', { vendor_id: vendorId, id: holder.id })
    if (this.#starting.has(vendorId))
      throw new AppError('conversation_live', { vendor_id: vendorId, id: 'just started' })
    this.#starting.add(vendorId)
    return { [Symbol.dispose]: () => this.#starting.delete(vendorId) }
  }
}

/** The one it is in, and the one it will go on from when it has a place. */
function conversationsOf({ row, open: { resume } }: Run): (string | null)[] {
  return [row.vendor_id, resume && !resume.fork ? resume.vendorId : null]
}
