import type { AnswerValue } from './brain.ts'

/** A person's answer that counts again when the same is asked. Never of a HIGH request. */
export type RememberedAnswer = RememberedBase & (RememberedVerdict | RememberedWords)

interface RememberedBase {
  /** `a-3fa91c`: by it the answer is forgotten. */
  id: string
  /** Where it counts; empty: in every project. */
  project: string
  /** One spelling for what is the same; very long ones are kept cut, `fingerprint` is of the whole. */
  normalised: string
  fingerprint: string
  tool: string
  /** As it was asked, for who reads the list. */
  asked: string
  by: string
  answered_at: number
  session_id: string | null
  /** A person said that it counts until it is forgotten; others grow old. */
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
  /** Where it counts; null: in every project. */
  project: string | null
}
