import { type Clock, systemClock } from '../../base/clock.ts'
import type { AnswerValue, Opinion } from '../../domain/brain/brain.ts'
import type { RememberedAnswer } from '../../domain/remembered-answer.ts'
import type { QuestionItem } from '../../domain/session.ts'
import type { Store, Tx } from '../../store/store.ts'
import { fingerprintOf, keptNormalised } from '../fingerprint.ts'
import { dayOf } from './day-of.ts'
import { normalisedLabel, normalisedQuestion, QUESTION_TOOL, standsAlone } from './questions.ts'
import { isFresh, type MemorySettings, STANDARD_MEMORY } from './settings.ts'
import { nearest } from './similar.ts'

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

export interface Remembered {
  /** Keeps an answer for the next time, each part by itself; false where nothing is kept. */
  keep(said: AnsweredQuestion, tx?: Tx): Promise<boolean>
  /** What a person answered when the same was asked before: an answer to every part, or nothing. */
  find(asked: Asked): Promise<RememberedOpinion | undefined>
  /** What a person answered to questions that are near, nearest first. */
  similar(asked: Asked): Promise<SimilarAnswer[]>
}

interface Asked {
  project: string
  questions: readonly QuestionItem[]
}

/** Answers to questions that count again. What is asked in the same words with the same options is the same question. */
export function remembered(
  store: Pick<Store, 'answers' | 'transaction'>,
  { clock = systemClock, ...settings }: Partial<MemorySettings> & { clock?: Clock } = {},
): Remembered {
  const memory = { ...STANDARD_MEMORY, ...settings }
  const isGood = (row: RememberedAnswer | undefined) => row !== undefined && isFresh(row, memory, clock.now())
  const one = async (project: string, item: QuestionItem) => {
    const fingerprint = fingerprintOf(QUESTION_TOOL, normalisedQuestion(item))
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
      const reasoning = `answered as on ${dayOf(at, clock.now())} by ${by === 'human' ? 'you' : by}`
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
      return nearest(questions.map(({ question }) => question).join('\n'), rows.filter(isGood)).map(
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

interface Desk {
  store: Pick<Store, 'answers'>
  clock: Clock
  tx: Tx
}

async function keep(
  { project, session, questions, answer, by, always }: AnsweredQuestion,
  { store, clock, tx }: Desk,
): Promise<boolean> {
  let kept = false
  for (const [index, item] of questions.entries()) {
    const said = answer[index]
    if (said === undefined || said.length === 0 || !(always || standsAlone(item))) continue
    const normalised = normalisedQuestion(item)
    await store.answers.put(
      {
        kind: 'question',
        project: always === 'everywhere' ? '' : project,
        tool: QUESTION_TOOL,
        normalised: keptNormalised(normalised),
        fingerprint: fingerprintOf(QUESTION_TOOL, normalised),
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
