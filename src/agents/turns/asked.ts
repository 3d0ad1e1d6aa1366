import type { Answer, Park, Question, Request, Verdict } from '../../domain/session.ts'

/** What was asked about a call of the agent's, and what came back. */
export type Asked =
  | { kind: 'permission'; request: Request; reply: Verdict | Park }
  | { kind: 'question'; request: Question; reply: Answer | Park }
