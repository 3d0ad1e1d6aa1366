import { isDeepStrictEqual } from 'node:util'
import { shortId } from '../../base/ids.ts'
import { redactValues } from '../../base/redact.ts'
import type { Suggestion } from '../../domain/brain/suggestion.ts'
import { isAutomatic } from '../../domain/human/decided-by.ts'
import type { Answer, Park, Question } from '../../domain/session.ts'
import { remembered } from '../../human/memory/remembered.ts'
import type { Reply } from '../../human/terminals.ts'
import { type ByMachine, byMachine } from '../brain/by-machine.ts'
import { byAgent, eventOf } from '../events/agent-event.ts'
import { record } from '../record.ts'
import type { Desk, Run } from '../run.ts'
import { askingPatch } from './asking-patch.ts'
import type { GivenAnswer } from './given-answer.ts'
import { questionRow } from './question-row.ts'

/** A question on its way to a person. */
interface Asked {
  askId: string
  suggestion: Suggestion | undefined
}

const NOBODY_TO_ASK = 'nobody is attached to answer; the question waits'

/** Only the main agent's call can be put off and answered later. */
const SUBAGENT_UNANSWERED = 'nobody is attached to answer; decide by yourself and tell who called you what you assumed'

/** The agent asks. Somebody at an attached terminal answers; with nobody there the question is parked and no process waits. */
export async function onQuestion(question: Question, signal: AbortSignal, desk: Desk): Promise<Answer | Park> {
  const { run, parts } = desk
  const given = run.answer
  if (given && 'answer' in given && isFor(given, question)) {
    run.answer = undefined
    run.taken = run.row.parked && 'questions' in run.row.parked ? run.row.parked : undefined
    return deliver(question, given.answer, desk)
  }
  const since = performance.now()
  const machine = await byMachine(question.questions, signal, desk)
  if (machine.answer) return deliver(question, machine.answer, { ...desk, machine, since })
  const { suggestion } = machine
  const askId = shortId('q')
  if (question.agentId !== undefined && !parts.terminals.isAttached(run.id)) {
    return deliver(question, { declined: SUBAGENT_UNANSWERED, by: 'nobody' }, desk)
  }
  if (!parts.terminals.isAttached(run.id)) return park(question, { askId, suggestion }, run)
  const reply = parts.terminals.ask(
    run.id,
    { kind: 'question', ask_id: askId, questions: question.questions, suggestion },
    signal,
  )
  const asked = {
    ask_id: askId,
    call_id: question.callId,
    questions: question.questions,
    ...byAgent(question),
    suggestion,
  }
  await record(run, parts, {
    events: [eventOf(run, 'question.asked', asked)],
    patch: askingPatch(run, parts),
  })
  return answered(question, await reply, { ...desk, askId, suggestion })
}

function answered(question: Question, reply: Reply, desk: Desk & Asked): Promise<Answer> | Park {
  if ('answered' in reply) {
    const { answers, reason, by } = reply.answered
    const declined = { declined: reason ?? 'the person at the terminal does not want to answer; decide yourself', by }
    if (!answers) return deliver(question, declined, desk)
    return kept(question, { answers, by }, desk).then(answer => deliver(question, answer, desk))
  }
  if (reply.unanswered === 'nobody' && question.agentId === undefined) return park(question, desk, desk.run)
  if (reply.unanswered === 'nobody') return deliver(question, { declined: SUBAGENT_UNANSWERED, by: 'nobody' }, desk)
  return deliver(question, { declined: 'the session was stopped before anybody answered', by: 'nobody' }, desk)
}

/** What somebody said counts the next time the same is asked. Should that fail, the agent has its answer all the same. */
async function kept(question: Question, answer: Exclude<Answer, { declined: string }>, { run, parts }: Desk) {
  const { questions } = question
  const said = { questions, answer: questions.map(each => answer.answers[each.question] ?? '') }
  const { store, clock } = parts
  await remembered(store, { clock })
    .keep({ project: run.row.project, session: run.id, by: answer.by, ...redactValues(said, run.secrets) })
    .catch(error => run.log.warn({ error }, 'the answer could not be remembered'))
  return answer
}

/** A model that was resumed may ask the same once more under a new id: the answer to it is here already. */
function isFor(given: Extract<GivenAnswer, { answer: Answer }>, question: Question): boolean {
  return given.callId === question.callId || isDeepStrictEqual(given.questions, question.questions)
}

/** Stores the answer on its way to the agent. */
async function deliver(
  question: Question,
  answer: Answer,
  { run, parts, machine, since }: Desk & { machine?: ByMachine; since?: number },
): Promise<Answer> {
  const body = {
    call_id: question.callId,
    answers: 'answers' in answer ? answer.answers : {},
    ...('declined' in answer ? { declined: answer.declined } : {}),
    by: answer.by,
    ...(machine && { confidence: machine.confidence, reasoning: machine.reasoning }),
    ...(since !== undefined && { latency_ms: Math.round((performance.now() - since) * 100) / 100 }),
    ...byAgent(question),
  }
  const auto = isAutomatic(answer.by)
  const { questions_auto, questions_human } = run.row
  const more = auto ? { questions_auto: questions_auto + 1 } : { questions_human: questions_human + 1 }
  const counted = 'answers' in answer ? more : {}
  await record(run, parts, {
    events: [eventOf(run, 'question.answered', body, auto || answer.by === 'nobody' ? 'daemon' : 'human')],
    patch: { ...counted, parked: null, ...askingPatch(run, parts) },
  })
  run.log.info({ by: answer.by, declined: 'declined' in answer }, 'question answered')
  return answer
}

/** Remembered until the turn ends, which it does at once; `settle` writes it into the row. */
function park(question: Question, { askId, suggestion }: Asked, run: Run): Park {
  const { callId, questions } = question
  run.parking.set(callId, {
    parked: { ask_id: askId, call_id: callId, questions, reason: NOBODY_TO_ASK, suggestion },
    reason: NOBODY_TO_ASK,
    escalation: { ...questionRow(question, NOBODY_TO_ASK, run), ...(suggestion && { context: { suggestion } }) },
  })
  run.log.info({ parts: question.questions.length }, 'question parked')
  return { park: true, reason: NOBODY_TO_ASK }
}
