import type { ToolReply } from '../../domain/tools/agent-tools.ts'
import { subjectOf } from '../../tasks/moves/write.ts'
import { refuseStale } from '../fence.ts'
import type { Desk } from '../run.ts'
import { mayCall, ownTask, type ToolCall } from './caller.ts'

/** Lines that one session may add to the log of its task. */
const MOST_NOTES = 200

/** Its last word counts, and nobody needs as many. */
const MOST_CLAIMS = 100

interface Claim {
  claim: 'done' | 'failed'
  text: string
}

/** Takes down what the agent says of its own task. It counts when its turn ends, as a sigil of its last words would. */
export async function claim({ claim, text }: Claim, call: ToolCall): Promise<ToolReply> {
  const { run, parts } = call
  if (!mayCall('claim', MOST_CLAIMS, call))
    return {
      ok: false,
      text: `Not done: you have said ${MOST_CLAIMS} times how it ended. End your turn now with your report.`,
    }
  await parts.store.transaction(async tx => {
    await refuseStale(run, tx)
    const { id, title, attempt } = await ownTask(call, tx)
    const body = { task_id: id, title, attempt, claim, text }
    await tx.append([{ actor: 'agent', subject: run.id, kind: 'task.claimed', body }])
  })
  if (claim === 'failed') return { ok: true, text: 'Taken down. End your turn now with your report.' }
  return { ok: true, text: 'Taken down: it will be verified. End your turn now with your report.' }
}

/** A line more in the log of the session's own task. */
export async function note(text: string, call: ToolCall): Promise<ToolReply> {
  if (!mayCall('log', MOST_NOTES, call))
    return { ok: false, text: `Not done: ${MOST_NOTES} lines are the most; put the rest into your report.` }
  const task = await ownTask(call)
  const body = { task_id: task.id, title: task.title, text }
  await call.parts.store.append([{ actor: 'agent', subject: subjectOf(task), kind: 'task.noted', body }])
  return { ok: true, text: 'Noted.' }
}

/** Why the agent has said, by its tool, that the attempt at work failed; undefined where it did not, or took it back. */
export async function claimedFailure({ run, parts }: Desk): Promise<string | undefined> {
  const [last] = await parts.store.events({ subject: run.id, kinds: ['task.claimed'], tail: 1 })
  if (last?.kind !== 'task.claimed') return undefined
  const { task_id, attempt, claim, text } = last.body
  const isNow = task_id === run.row.task_id && (run.attempt === undefined || attempt === run.attempt)
  return isNow && claim === 'failed' ? text : undefined
}
