import { readdir } from 'node:fs/promises'
import { shortId } from '../../base/ids.ts'
import { explainGraveAnswer } from '../../brain/rules/grave.ts'
import { judgePermission } from '../../brain/rules/permission.ts'
import { answerInProse, type ProseQuestion } from '../../brain/rules/turn-ending.ts'
import type { Assessment } from '../../domain/assessment.ts'
import type { AnswerValue, Brain, BrainContext, Opinion, Suggestion } from '../../domain/brain.ts'
import type { NewEscalation } from '../../domain/escalation.ts'
import type { EventOf } from '../../domain/event.ts'
import type { Answer, Question, QuestionItem, Request } from '../../domain/session.ts'
import { openAnswerMemory, type RememberedOpinion } from '../../human/remembered-answers.ts'
import { brainMeter } from '../guards/spending.ts'
import { codeText, foundInTime } from '../knowledge/found-code.ts'
import { codeOf } from './code-tools.ts'
import { eventOf, type LiveSession, type LiveSessionEnding, type SessionContext, type SessionDeps } from './context.ts'
import { record } from './record.ts'
import { targetOf } from './tool-call.ts'

/** The context of an opinion must fit into a prompt. */
const MAX_DECISIONS = 50
const MAX_ENTRIES = 200

/**
 * What a brain is given of a session when it forms an opinion. All of it is data. With `question`, code that the question is about and what
 * was learned before is among it; never for a permission, because an agent could have written what speaks for its own call.
 */
export async function brainContext(live: LiveSession, deps: SessionDeps, question?: string): Promise<BrainContext> {
  const { store } = deps
  const [task, answered, entries, code, learned] = await Promise.all([
    live.row.task_id === null ? undefined : store.tasks.get(live.row.task_id),
    store.events({ subject: live.id, kinds: ['question.answered'], tail: MAX_DECISIONS }),
    listEntries(live.row.project),
    question === undefined ? undefined : lookUpCode(question, { live, deps }),
    question === undefined ? undefined : recallFor(question, { live, deps }),
  ])
  return {
    code,
    learned,
    project: live.row.project,
    task: task?.description ?? live.row.task,
    requirements: live.settings.requirements,
    decisions: answered
      .filter((event): event is EventOf<'question.answered'> => event.kind === 'question.answered')
      .flatMap(({ body }) =>
        Object.entries(body.answers).map(([question, answer]) => ({
          question,
          answer: [answer].flat().join(', '),
          by: body.by,
        })),
      ),
    similar: [],
    entries,
    used: brainMeter(live.row, { ...deps, log: live.log }),
  }
}

/** The code that a question is about. A brain that is a set of rules reads none. */
async function lookUpCode(question: string, { live, deps }: SessionContext): Promise<string | undefined> {
  const { searchesCode, brainSettings } = live.settings
  if (!searchesCode || brainSettings.brain.name === 'rules') return undefined
  const search = codeOf({ live, deps }).search({ query: question, freshMs: deps.code.patienceMs, neighbours: true })
  const found = await foundInTime(search, deps.code)
  return found && codeText(found)
}

/** What was learned about a question before. */
async function recallFor(question: string, { live: { row, settings }, deps }: SessionContext) {
  if (settings.brainSettings.brain.name === 'rules') return undefined
  return deps.memory.recall(row.project, question, { agent: row.agent, session: row.id, caller: row.options })
}

export async function listEntries(project: string): Promise<string[]> {
  const entries = await readdir(project, { withFileTypes: true }).catch(() => [])
  return entries.slice(0, MAX_ENTRIES).map(entry => (entry.isDirectory() ? `${entry.name}/` : entry.name))
}

export interface PermissionAdvice {
  approve: boolean
  confidence: number
  /** Who advises this and why, for the log. */
  reason: string
  by: string
  reasoning: string
}

/** The brains' opinion of a request of a session. */
export function opinionOn(
  request: Request,
  assessment: Assessment,
  signal: AbortSignal,
  { live, deps }: SessionContext,
): Promise<PermissionAdvice> {
  const { brain, threshold } = live.settings.brainSettings
  return adviseOn({ request, assessment }, { brain, threshold, context: () => brainContext(live, deps) }, signal)
}

export interface Advisers {
  brain: Brain
  threshold: number
  context(): Promise<BrainContext>
}

/** The brains' opinion of a call. The rules are asked first and alone: most of the time they decide it, in microseconds. */
export async function adviseOn(
  { request: { tool, input }, assessment }: { request: Pick<Request, 'tool' | 'input'>; assessment: Assessment },
  { brain, threshold, context }: Advisers,
  signal: AbortSignal,
): Promise<PermissionAdvice> {
  const ruled = judgePermission(assessment)
  const byRules = { ...ruled, by: 'rules', reasoning: ruled.reason }
  const isDecided = byRules.approve && byRules.confidence >= threshold
  if (isDecided || assessment.risk !== 'MEDIUM' || brain.name === 'rules') return byRules
  const reasons = assessment.reasons.map(({ code, risk, text }) => ({ code, risk, text }))
  const request = { tool, input, risk: assessment.risk, reasons: reasons.map(({ text }) => text), found: reasons }
  const opinion = await brain.evaluatePermission(request, await context(), signal)
  if (opinion.value === undefined) return byRules
  const { value: approve, confidence, by, reasoning } = opinion
  return { approve, confidence, by, reasoning, reason: `${by}: ${reasoning}` }
}

/** The result of asking the machine: an answer, or a suggestion for the person who decides, or neither. */
export interface MachineAnswer {
  answer?: Answer | undefined
  suggestion?: Suggestion | undefined
  /** The reasoning, for the log. */
  reasoning: string
  confidence: number
}

/**
 * Answers a question without a person if the settings allow that: with a person's earlier answer to the same question, else with
 * an answer that a brain is confident of. Never throws: a failure is no answer, and then a person is asked.
 */
export async function answerByMachine(
  questions: QuestionItem[],
  signal: AbortSignal,
  context: SessionContext,
): Promise<MachineAnswer> {
  try {
    return await formAnswer(questions, signal, context)
  } catch (error) {
    context.live.log.warn({ error }, 'no opinion could be formed')
    return { reasoning: 'no opinion could be formed', confidence: 0 }
  }
}

async function formAnswer(
  questions: QuestionItem[],
  signal: AbortSignal,
  { live, deps }: SessionContext,
): Promise<MachineAnswer> {
  const { brain, threshold, autoAnswer, memory: settings } = live.settings.brainSettings
  const memory = openAnswerMemory(deps.store, { ...settings, clock: deps.clock })
  const query = { project: live.row.project, questions }
  const remembered = await memory.find(query)
  const earlier = remembered && (remembered.lasting || !isGrave(questions, remembered)) ? remembered : undefined
  if (autoAnswer && earlier && earlier.confidence >= threshold) return toAnswer(questions, earlier, 'memory')
  const asked = questions.map(({ question }) => question).join('\n')
  const context = { ...(await brainContext(live, deps, asked)), similar: await memory.similar(query) }
  const opinion = await brain.answerQuestion(questions, context, signal)
  if (autoAnswer && opinion.value && opinion.confidence >= threshold) {
    return toAnswer(questions, opinion, `brain:${opinion.by}`)
  }
  const best = earlier ?? opinion
  if (best.value === undefined && brain.name !== 'rules') await noteNoAnswer(best, { live, deps })
  return { suggestion: suggestionOf(best), reasoning: best.reasoning, confidence: best.confidence }
}

/** A person who set up a model wants to know why it did not answer: a wrong key, a server that is down. */
async function noteNoAnswer({ reasoning }: Opinion<AnswerValue>, { live, deps }: SessionContext): Promise<void> {
  live.log.warn({ reasoning }, 'no brain could answer')
  const text = `No brain could answer the question: ${reasoning}`
  await record(live, deps, { events: [eventOf(live, 'session.noted', { text }, 'daemon')], patch: {} })
}

/**
 * Whether an earlier answer agreed to something destructive or irreversible. Such a yes counted that day only, unless the
 * person made it lasting.
 */
function isGrave(questions: QuestionItem[], { value }: RememberedOpinion): boolean {
  return questions.some((item, index) => explainGraveAnswer(item, [value[index] ?? ''].flat()) !== undefined)
}

function toAnswer(questions: QuestionItem[], opinion: Opinion<AnswerValue>, by: string): MachineAnswer {
  const value = opinion.value ?? []
  const answers = Object.fromEntries(questions.map(({ question }, index) => [question, value[index] ?? '']))
  return { answer: { answers, by }, reasoning: opinion.reasoning, confidence: opinion.confidence }
}

function suggestionOf({ value, confidence, by, reasoning }: Opinion<AnswerValue>): Suggestion | undefined {
  return value && { answer: value, confidence, by, reasoning }
}

/** After this many answers in a row a person is asked: more answers by a machine do not help an agent that keeps asking. */
const MOST_ANSWERS = 3

/** The reply to a question with which a turn ended: an answer, or a suggestion for the person who has to answer. */
export interface ProseReply {
  text?: string | undefined
  suggestion?: Suggestion | undefined
}

/**
 * The reply to an agent that ended its turn with a question instead of acting: a person's earlier answer to the same question,
 * else an answer that a brain is confident of, else the reply of the rules for such endings.
 */
export async function replyToProse(question: ProseQuestion, context: SessionContext): Promise<ProseReply> {
  const { live, deps } = context
  const { autoAnswer, threshold } = live.settings.brainSettings
  const item = itemOf(question)
  const { answer, suggestion } = await answerByMachine([item], AbortSignal.timeout(DEADLINE_MS), context)
  if (!autoAnswer || live.meters.proseAnswers >= MOST_ANSWERS) return { suggestion }
  if (answer && 'answers' in answer) {
    const text = [answer.answers[item.question] ?? []].flat().join(', ')
    // The rules for such endings say more than a bare yes of the rules brain; a person's or a model's answer stands as it is.
    if (text !== '' && answer.by !== 'brain:rules') return { text }
  }
  const byRules = answerInProse(question, await brainContext(live, deps))
  return byRules.value !== undefined && byRules.confidence >= threshold ? { text: byRules.value } : { suggestion }
}

/** Longer than any brain's own deadline. */
const DEADLINE_MS = 120_000

/** The ending of a session whose agent asks in prose: no process waits, and the answer becomes the next prompt. */
export function parkProseQuestion(
  question: ProseQuestion,
  live: LiveSession,
  suggestion?: Suggestion,
): LiveSessionEnding {
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
      ...questionRow({ callId, questions: [item] }, REASON, live),
      ...(suggestion && { context: { suggestion } }),
    },
    events: [eventOf(live, 'question.parked', parked, 'daemon')],
    task: { to: 'waiting', reason: REASON },
    checkpoint: 'park',
  }
}

const REASON = 'it ended its turn with a question; the answer makes it go on'

/** The text before the question belongs to it: "Shall I proceed?" alone does not say what the agent would do. */
function itemOf({ about }: ProseQuestion): QuestionItem {
  return { question: about.trim(), header: 'Asks', multiSelect: false, options: [] }
}

/** The name under which agents ask; other drivers translate to it. */
const TOOL = 'AskUserQuestion'

/** The escalation of a question. A question does nothing by itself, so its risk is LOW. */
export function questionRow({ callId, questions }: Question, reason: string, live: LiveSession): NewEscalation {
  const text = questions.map(({ question }) => question).join('\n')
  return {
    kind: 'question',
    session_id: live.id,
    project: live.row.project,
    task: live.row.task,
    call_id: callId,
    tool: TOOL,
    target: targetOf({ prompt: text }, live.row.project),
    input: { questions },
    risk: 'LOW',
    reason,
    reasons: [],
    normalised: `${TOOL} ${text}`,
    state: 'open',
  }
}
