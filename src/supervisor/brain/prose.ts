import { shortId } from '../../base/ids.ts'
import { answerInProse, type ProseQuestion } from '../../brain/rules/turn-ending.ts'
import type { QuestionItem } from '../../domain/session.ts'
import { questionRow } from '../asks/question-row.ts'
import { eventOf } from '../events/agent-event.ts'
import type { Desk, Ending, Run } from '../run.ts'
import { byMachine } from './by-machine.ts'
import { brainContext } from './context.ts'

/** An agent that keeps asking is not helped by more answers of a machine: then a person is asked. */
const MOST_ANSWERS = 3

/** What is said to an agent that ended its turn with a question instead of acting; undefined where a person has to say it. */
export async function replyTo(question: ProseQuestion, desk: Desk): Promise<string | undefined> {
  const { run, parts } = desk
  const { autoAnswer, threshold } = run.mind
  if (!autoAnswer || run.proseAnswers >= MOST_ANSWERS) return undefined
  const byRules = answerInProse(question, await brainContext(run, parts))
  if (byRules.value !== undefined && byRules.confidence >= threshold) return byRules.value
  const item = itemOf(question)
  const { answer } = await byMachine([item], AbortSignal.timeout(DEADLINE_MS), desk)
  if (!answer || !('answers' in answer)) return undefined
  return [answer.answers[item.question] ?? []].flat().join(', ') || undefined
}

/** Longer than any brain's own deadline. */
const DEADLINE_MS = 120_000

/** The ending of a session whose agent asks in words: no process waits, and the answer is told to it as the next prompt. */
export function parkedInWords(question: ProseQuestion, run: Run): Ending {
  const item = itemOf(question)
  const callId = `end-of-turn-${shortId('p')}`
  const parked = { ask_id: shortId('q'), call_id: callId, questions: [item], reason: REASON, taken: true as const }
  return {
    as: 'waiting_input',
    reason: REASON,
    parked,
    escalation: questionRow({ callId, questions: [item] }, REASON, run),
    events: [eventOf(run, 'question.parked', parked, 'daemon')],
    task: { to: 'waiting', reason: REASON },
    checkpoint: 'park',
  }
}

const REASON = 'it ended its turn with a question; the answer makes it go on'
/** All that stands before the question goes with it: "Shall I proceed?" alone says nothing of what it would proceed to do. */
function itemOf({ about }: ProseQuestion): QuestionItem {
  return { question: about.trim(), header: 'Asks', multiSelect: false, options: [] }
}
