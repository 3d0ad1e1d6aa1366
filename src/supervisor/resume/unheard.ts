import type { Store } from '../../store/store.ts'

/** What an agent does once it has heard a prompt. */
const TALK = ['agent.said', 'agent.thought', 'tool.requested', 'turn.ended'] as const

/** Far more than happens between two tasks; a task that began before that was heard of long ago. */
const EVENTS = 500

/**
 * Whether a conversation that has done other work never heard of this task: its row has it before its words are said, and a daemon can
 * die between the two. To be told to go on, such an agent would say that all is done.
 */
export async function isUnheard(task: string, session: string, store: Pick<Store, 'events'>): Promise<boolean> {
  const events = await store.events({ subject: session, kinds: ['task.started', ...TALK], tail: EVENTS })
  const begun = events.findIndex(({ kind, body }) => kind === 'task.started' && body.task_id === task)
  if (begun < 0) return false
  const isTalk = ({ kind }: (typeof events)[number]) => kind !== 'task.started'
  return events.slice(0, begun).some(isTalk) && !events.slice(begun).some(isTalk)
}
