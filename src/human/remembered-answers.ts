import { type Clock, systemClock } from '../base/clock.ts'
import type { AnswerValue, Opinion } from '../domain/brain.ts'
import type { RememberedAnswer } from '../domain/remembered-answer.ts'
import type { QuestionItem } from '../domain/session.ts'
import type { Store, Tx } from '../store/store.ts'
import { fingerprintRequest, isFresh, type MemorySettings, STANDARD_MEMORY, truncateNormalised } from './precedents.ts'
import { isSelfContained, normalisedLabel, normalisedQuestion, QUESTION_TOOL } from './questions.ts'

/** What a person answered to a question. */
export interface AnsweredQuestion {
  project: string
  session: string
  questions: readonly QuestionItem[]
  /** One for each of them. */
  answer: AnswerValue
  by: string
  /** It counts until it is forgotten; otherwise it grows old. */
  always?: 'project' | 'everywhere' | undefined
}

/** An earlier answer of a person to the same question. */
export interface RememberedOpinion extends Opinion<AnswerValue> {
  value: AnswerValue
  /** Who answered then, and when. */
  said_by: string
  at: number
  /** A person said of every part that it counts until it is forgotten. */
  lasting: boolean
}

/** An earlier answer to another question that is near. */
export interface SimilarAnswer {
  question: string
  answer: string
  by: string
  at: number
}

export interface AnswerMemory {
  /** Keeps an answer for the next time, each part by itself; false where nothing is kept. */
  keep(said: AnsweredQuestion, tx?: Tx): Promise<boolean>
  /** What a person answered when the same was asked before: an answer to every part, or nothing. */
  find(asked: AskedQuestions): Promise<RememberedOpinion | undefined>
  /** What a person answered to questions that are near, nearest first. */
  similar(asked: AskedQuestions): Promise<SimilarAnswer[]>
}

interface AskedQuestions {
  project: string
  questions: readonly QuestionItem[]
}

/** Answers to questions that count again. What is asked in the same words with the same options is the same question. */
export function openAnswerMemory(
  store: Pick<Store, 'answers' | 'transaction'>,
  { clock = systemClock, ...settings }: Partial<MemorySettings> & { clock?: Clock } = {},
): AnswerMemory {
  const memory = { ...STANDARD_MEMORY, ...settings }
  const isGood = (row: RememberedAnswer | undefined) => row !== undefined && isFresh(row, memory, clock.now())
  const one = async (project: string, item: QuestionItem) => {
    const fingerprint = fingerprintRequest(QUESTION_TOOL, normalisedQuestion(item))
    const here = await store.answers.find(project, fingerprint)
    const row = isGood(here) ? here : await store.answers.find('', fingerprint)
    return row?.kind === 'question' && isGood(row) && row.answer.length > 0 ? row : undefined
  }
  return {
    keep: (said, tx) =>
      tx ? keep(said, { store, clock, tx }) : store.transaction(own => keep(said, { store, clock, tx: own })),
    async find({ project, questions }) {
      const found = await Promise.all(questions.map(item => one(project, item)))
      const rows = found.filter(row => row !== undefined)
      const newest = rows.toSorted((left, right) => right.answered_at - left.answered_at)[0]
      if (!newest || rows.length < questions.length) return undefined
      const value = rows.map(({ answer }, index) => asOffered(answer, questions[index]))
      const { by, answered_at: at } = newest
      const reasoning = `answered as on ${formatDay(at, clock.now())} by ${by === 'human' ? 'you' : by}`
      return {
        value,
        confidence: memory.confidence,
        reasoning,
        by: 'memory',
        said_by: by,
        at,
        lasting: rows.every(row => row.lasting),
      }
    },
    async similar({ project, questions }) {
      const rows = await store.answers.list({ kind: 'question', project, limit: LOOKED_THROUGH })
      return findNearest(questions.map(({ question }) => question).join('\n'), rows.filter(isGood)).map(
        ({ asked, answer, by, answered_at }) => {
          return { question: asked, answer: [answer ?? ''].flat().join(', '), by, at: answered_at }
        },
      )
    },
  }
}

/** The newest; an older one is not worth the reading. */
const LOOKED_THROUGH = 500
/** As much of a question as a list shows and a brain reads. */
const KEPT_QUESTION = 2_000

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
    const said = answer[index]
    if (said === undefined || said.length === 0 || !(always || isSelfContained(item))) continue
    const normalised = normalisedQuestion(item)
    await store.answers.put(
      {
        kind: 'question',
        project: always === 'everywhere' ? '' : project,
        tool: QUESTION_TOOL,
        normalised: truncateNormalised(normalised),
        fingerprint: fingerprintRequest(QUESTION_TOOL, normalised),
        asked: item.question.slice(0, KEPT_QUESTION).toWellFormed(),
        verdict: null,
        answer: said,
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

/** The answer in the words of today's options, which may be marked or written otherwise. */
function asOffered(answer: string | string[] | null, item: QuestionItem | undefined): string | string[] {
  const offered = (text: string) =>
    item?.options.find(({ label }) => label === text)?.label ??
    item?.options.find(({ label }) => normalisedLabel(label) === normalisedLabel(text))?.label ??
    text
  return Array.isArray(answer) ? answer.map(offered) : offered(answer ?? '')
}

const MOST = 5
/** Below this two questions share only words that every question has. */
const LEAST = 0.25

/** Remembered answers to questions that share the most words with this one, nearest first. */
function findNearest<Row extends Pick<RememberedAnswer, 'asked'>>(question: string, rows: readonly Row[]): Row[] {
  const words = wordsOf(question)
  return rows
    .map(row => ({ row, share: overlap(words, wordsOf(row.asked)) }))
    .filter(({ share }) => share >= LEAST)
    .sort((left, right) => right.share - left.share)
    .slice(0, MOST)
    .map(({ row }) => row)
}

/** What two sets have in common, of all that either has. */
function overlap(left: Set<string>, right: Set<string>): number {
  const common = left.intersection(right).size
  return common === 0 ? 0 : common / left.union(right).size
}

function wordsOf(text: string): Set<string> {
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

/** The day of an answer as a person remembers it: `12 Nov`, with the year where it is another one. */
export function formatDay(at: number, now: number): string {
  const [then, today] = [new Date(at), new Date(now)]
  const year = then.getFullYear() === today.getFullYear() ? {} : ({ year: 'numeric' } as const)
  return then.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', ...year })
}
