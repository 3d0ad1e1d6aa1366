import type { Asks } from '../domain/session.ts'
import { onPermission } from './asks/on-permission.ts'
import { onQuestion } from './asks/on-question.ts'
import { inInterview } from './features/in-interview.ts'
import type { Parts, Run } from './run.ts'
import { callTool } from './tools/call-tool.ts'

/** What the agent's driver awaits before the agent may act. */
export function asksFor(run: Run, parts: Parts): Asks {
  return {
    permission: (request, signal) => onPermission(request, signal, { run, parts }),
    question: (question, signal) =>
      run.row.options.feature?.phase === 'interview'
        ? inInterview(question, signal, { run, parts })
        : onQuestion(question, signal, { run, parts }),
    tool: (name, input) => callTool(name, input, { run, parts }),
  }
}
