import { shortId } from '../../base/ids.ts'
import type { Question } from '../../domain/session.ts'
import { type ToolReply, toolInput } from '../../domain/tools/agent-tools.ts'
import { questionRow } from '../asks/question-row.ts'
import { asksFor } from '../asks.ts'
import { record } from '../record.ts'
import { mayCall, type ToolCall } from './caller.ts'

/** Questions of one session: more is no list that a person could work through. */
const MOST_QUESTIONS = 50

const NOBODY =
  'Nobody is there to answer now; it is on their list. Go on without it and say what you assumed; if nothing can be done without the answer, end your turn with the question.'

/**
 * A question of an agent whose calls cannot be put off by us. Somebody at a terminal answers it at once; with nobody there it is put on
 * their list, and the agent goes on.
 */
export async function askOverSocket(input: unknown, call: ToolCall): Promise<ToolReply> {
  const { run, parts } = call
  const { data } = toolInput('ask_human', input)
  if (!data) return { ok: false, text: 'Not done: the question could not be read.' }
  if (!mayCall('ask_human', MOST_QUESTIONS, call))
    return {
      ok: false,
      text: `Not done: ${MOST_QUESTIONS} questions are the most; decide by yourself and say what you assumed.`,
    }
  const options = (data.options ?? []).map(label => ({ label, description: '' }))
  const item = { question: data.question, header: '', multiSelect: false, options }
  const question: Question = { callId: shortId('ask'), questions: [item] }
  if (!parts.terminals.isAttached(run.id)) {
    const escalation = questionRow(question, 'nobody is attached to answer; the agent goes on', run)
    await record(run, parts, { events: [], patch: {}, escalation })
    return { ok: false, text: NOBODY }
  }
  // As of a subagent: such a call is answered or given back, and never parks the session.
  const asked = { ...question, agentId: 'tools' }
  const answer = await asksFor(run, parts).question(asked, AbortSignal.timeout(DEADLINE_MS))
  if ('answers' in answer) return { ok: true, text: [answer.answers[data.question] ?? ''].flat().join(', ') }
  return { ok: false, text: 'declined' in answer ? answer.declined : NOBODY }
}

/** Other clients give up on a call sooner or later; a person at a terminal is asked for no longer than this. */
const DEADLINE_MS = 10 * 60_000
