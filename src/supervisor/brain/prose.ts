import { shortId } from '../../base/ids.ts'
import { answerInProse, type ProseQuestion } from '../../brain/rules/turn-ending.ts'
import type { Suggestion } from '../../domain/brain/suggestion.ts'
import type { QuestionItem } from '../../domain/session.ts'
import { questionRow } from '../asks/question-row.ts'
import { eventOf } from '../events/agent-event.ts'
import type { Desk, Ending, Run } from '../run.ts'
import { byMachine } from './by-machine.ts'
import { brainContext } from './context.ts'

/** An agent that keeps asking is not helped by more answers of a machine: then a person is asked. */
const MOST_ANSWERS = 3

/** What is said to a question with which a turn ended: an answer, or what a person who has to say it would be told. */
export interface Reply {
  text?: string | undefined
  suggestion?: Suggestion | undefined
}

/**
 * What is said to an agent that ended its turn with a question instead of acting: what a person said to the same before,
 * else what the rules for such endings know, else what a brain is confident of.
 */
export async function replyTo(question: ProseQuestion, desk: Desk): Promise<Reply> {
  const { run, parts } = desk
  const { autoAnswer, threshold } = run.mind
  const item = itemOf(question)
  const { answer, suggestion } = await byMachine([item], AbortSignal.timeout(DEADLINE_MS), desk)
  if (!autoAnswer || run.proseAnswers >= MOST_ANSWERS) return { suggestion }
  if (answer && 'answers' in answer) {
    const text = [answer.answers[item.question] ?? []].flat().join(', ')
    // A bare yes says less than what the rules have for such an ending; a person's word and a model's stand as they are.
    if (text !== '' && answer.by !== 'brain:rules') return { text }
  }
  const byRules = answerInProse(question, await brainContext(run, parts))
  return byRules.value !== undefined && byRules.confidence >= threshold ? { text: byRules.value } : { suggestion }
}

/** Longer than any brain's own deadline. */
const DEADLINE_MS = 120_000

/** The ending of a session whose agent asks in words: no process waits, and the answer is told to it as the next prompt. */
export function parkedInWords(question: ProseQuestion, run: Run, suggestion?: Suggestion): Ending {
  const item = itemOf(question)
  const callId = `end-of-turn-${shortId('p')}`
  const parked = {
    ask_id: shortId('q'),
    call_id: callId,
    questions: [item],
    reason: REASON,
    taken: true as const,
    ...(suggestion && { suggestion }),
  }
  return {
    as: 'waiting_input',
    reason: REASON,
    parked,
    escalation: {
      ...questionRow({ callId, questions: [item] }, REASON, run),
      ...(suggestion && { context: { suggestion } }),
    },
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
