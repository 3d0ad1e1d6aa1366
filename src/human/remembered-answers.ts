import { type Clock, systemClock } from '../base/clock.ts'
import type { AnswerValue, Opinion } from '../domain/brain.ts'
import type { RememberedAnswer } from '../domain/remembered-answer.ts'
import type { QuestionItem } from '../domain/session.ts'
import type { AnswerStore, Store, Tx } from '../store/store.ts'
import { fingerprintRequest, isFresh, type MemorySettings, STANDARD_MEMORY, truncateNormalised } from './precedents.ts'
import { isSelfContained, normaliseLabel, normaliseQuestion, QUESTION_TOOL } from './questions.ts'

/** What a person answered to a question. */
export interface AnsweredQuestion {
  project: string
  session: string
  questions: readonly QuestionItem[]
  /** One answer for each question. */
  answer: AnswerValue
  by: string
  /** Set if the answer counts until it is forgotten; otherwise it expires. */
  always?: 'project' | 'everywhere' | undefined
}

/** An earlier answer of a person to the same question. */
export interface RememberedOpinion extends Opinion<AnswerValue> {
  value: AnswerValue
  /** Who answered, and when. */
  said_by: string
  at: number
  /** Whether a person said for every part that the answer counts until it is forgotten. */
  lasting: boolean
}

/** An earlier answer to a similar question. */
export interface SimilarAnswer {
  question: string
  answer: string
  by: string
  at: number
}

export interface AnswerMemory {
  /** Stores an answer for the next time, each part by itself; returns false if nothing was stored. */
  keep(answered: AnsweredQuestion, tx?: Tx): Promise<boolean>
  /** A person's earlier answer to the same question: to every part, or undefined. */
  find(asked: AskedQuestions): Promise<RememberedOpinion | undefined>
  /** A person's earlier answers to similar questions, most similar first. */
  similar(asked: AskedQuestions): Promise<SimilarAnswer[]>
}

interface AskedQuestions {
  project: string
  questions: readonly QuestionItem[]
}

/** Answers to questions that count again. Two questions are the same if their words and options are. */
export function openAnswerMemory(
  store: Pick<Store, 'answers' | 'transaction'>,
  { clock = systemClock, ...settings }: Partial<MemorySettings> & { clock?: Clock } = {},
): AnswerMemory {
  const memory = { ...STANDARD_MEMORY, ...settings }
  const isValid = (row: RememberedAnswer) => isFresh(row, memory, clock.now())
  return {
    keep: (answered, tx) =>
      tx ? keep(answered, { store, clock, tx }) : store.transaction(own => keep(answered, { store, clock, tx: own })),
    find: asked => findRememberedAnswer(store.answers, asked, { memory, now: clock.now() }),
    async similar({ project, questions }) {
      const rows = await store.answers.list({ kind: 'question', project, limit: MOST_SEARCHED })
      return findNearest(questions.map(({ question }) => question).join('\n'), rows.filter(isValid)).map(
        ({ asked, answer, by, answered_at }) => {
          return { question: asked, answer: [answer ?? ''].flat().join(', '), by, at: answered_at }
        },
      )
    },
  }
}

/** `AnswerMemory.find` for callers that only read. */
export async function findRememberedAnswer(
  answers: Pick<AnswerStore, 'find'>,
  { project, questions }: AskedQuestions,
  { memory, now }: { memory: MemorySettings; now: number },
): Promise<RememberedOpinion | undefined> {
  const isValid = (row: RememberedAnswer | undefined) => row !== undefined && isFresh(row, memory, now)
  const findOne = async (item: QuestionItem) => {
    const fingerprint = fingerprintRequest(QUESTION_TOOL, normaliseQuestion(item))
    const ofProject = await answers.find(project, fingerprint)
    const row = isValid(ofProject) ? ofProject : await answers.find('', fingerprint)
    return row?.kind === 'question' && isValid(row) && row.answer.length > 0 ? row : undefined
  }
  const found = await Promise.all(questions.map(findOne))
  const rows = found.filter(row => row !== undefined)
  const newest = rows.toSorted((left, right) => right.answered_at - left.answered_at)[0]
  if (!newest || rows.length < questions.length) return undefined
  const { by, answered_at: at } = newest
  return {
    value: rows.map(({ answer }, index) => toOfferedLabels(answer, questions[index])),
    confidence: memory.confidence,
    reasoning: `answered as on ${formatDay(at, now)} by ${by === 'human' ? 'you' : by}`,
    by: 'memory',
    said_by: by,
    at,
    lasting: rows.every(row => row.lasting),
  }
}

/** How many remembered answers are searched: the newest ones. */
const MOST_SEARCHED = 500
/** How much of a question is stored: as much as a list shows and a brain reads. */
const LONGEST_QUESTION = 2_000

interface MemoryDeps {
  store: Pick<Store, 'answers'>
  clock: Clock
  tx: Tx
}

async function keep(
  { project, session, questions, answer, by, always }: AnsweredQuestion,
  { store, clock, tx }: MemoryDeps,
): Promise<boolean> {
  let kept = false
  for (const [index, item] of questions.entries()) {
    const part = answer[index]
    if (part === undefined || part.length === 0 || !(always || isSelfContained(item))) continue
    const normalised = normaliseQuestion(item)
    await store.answers.put(
      {
        kind: 'question',
        project: always === 'everywhere' ? '' : project,
        tool: QUESTION_TOOL,
        normalised: truncateNormalised(normalised),
        fingerprint: fingerprintRequest(QUESTION_TOOL, normalised),
        asked: item.question.slice(0, LONGEST_QUESTION).toWellFormed(),
        verdict: null,
        answer: part,
        by,
        answered_at: clock.now(),
        session_id: session,
        lasting: always !== undefined,
      },
      tx,
    )
    kept = true
  }
  return kept
}

/** The answer in the labels of the options offered now, which may be marked or spelled differently. */
function toOfferedLabels(answer: string | string[] | null, item: QuestionItem | undefined): string | string[] {
  const toLabel = (text: string) =>
    item?.options.find(({ label }) => label === text)?.label ??
    item?.options.find(({ label }) => normaliseLabel(label) === normaliseLabel(text))?.label ??
    text
  return Array.isArray(answer) ? answer.map(toLabel) : toLabel(answer ?? '')
}

const MOST_SIMILAR = 5
/** With a smaller overlap two questions share only words that every question has. */
const LEAST_OVERLAP = 0.25

/** Remembered answers to the questions that share the most words with this one, most similar first. */
function findNearest<Row extends Pick<RememberedAnswer, 'asked'>>(question: string, rows: readonly Row[]): Row[] {
  const words = toWords(question)
  return rows
    .map(row => ({ row, share: overlap(words, toWords(row.asked)) }))
    .filter(({ share }) => share >= LEAST_OVERLAP)
    .sort((left, right) => right.share - left.share)
    .slice(0, MOST_SIMILAR)
    .map(({ row }) => row)
}

/** The size of the intersection of two sets divided by the size of their union. */
function overlap(left: Set<string>, right: Set<string>): number {
  const common = left.intersection(right).size
  return common === 0 ? 0 : common / left.union(right).size
}

function toWords(text: string): Set<string> {
  const words =
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}_+#]+/gu) ?? []
  return new Set(words.filter(word => !COMMON.has(word)))
}

const COMMON = new Set(
  'a an the i we you it is are be do does did should would could can may shall will what which who how where when why to of in on for with and or as at by from use want like need my our your me us'.split(
    ' ',
  ),
)

/** The day of an answer for people: `12 Nov`, with the year if it is not this year. */
export function formatDay(at: number, now: number): string {
  const [then, today] = [new Date(at), new Date(now)]
  const year = then.getFullYear() === today.getFullYear() ? {} : ({ year: 'numeric' } as const)
  return then.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', ...year })
}
