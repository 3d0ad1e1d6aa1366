import type { Asks } from '../domain/session.ts'
import { onPermission } from './asks/on-permission.ts'
import { onQuestion } from './asks/on-question.ts'
import type { Parts, Run } from './run.ts'

/** What the agent's driver awaits before the agent may act. */
export function asksFor(run: Run, parts: Parts): Asks {
  return {
    permission: (request, signal) => onPermission(request, signal, { run, parts }),
    question: (question, signal) => onQuestion(question, signal, { run, parts }),
  }
}
