import type { AnswerValue } from './brain.ts'

/** A person's answer that is reused when the same is asked again. Never for a HIGH request. */
export type RememberedAnswer = RememberedBase & (RememberedVerdict | RememberedWords)

interface RememberedBase {
  /** `a-3fa91c`: the id by which the answer is removed. */
  id: string
  /** The project in which it applies; empty for every project. */
  project: string
  /** One spelling for equal requests. Very long ones are stored cut; `fingerprint` is of the whole text. */
  normalised: string
  fingerprint: string
  tool: string
  /** The request as it was asked, for the list. */
  asked: string
  by: string
  answered_at: number
  session_id: string | null
  /** Whether a person said that it applies until it is removed; other answers expire. */
  lasting: boolean
}

interface RememberedVerdict {
  kind: 'permission'
  verdict: 'allow' | 'deny'
  answer: null
}

interface RememberedWords {
  kind: 'question'
  verdict: null
  answer: AnswerValue[number]
}

/** GET /answers: what `pcc answers list` shows. */
export type RememberedView = Omit<RememberedAnswer, 'fingerprint' | 'normalised' | 'project'> & {
  scope: 'project' | 'everywhere'
  /** The project in which it applies; null for every project. */
  project: string | null
}
