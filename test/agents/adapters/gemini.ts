import { openDriver } from '../../../src/agents/open.ts'
import { geminiAgent } from '../../../src/domain/agents/gemini.ts'
import type { Adapter } from '../conformance/adapter.ts'
import { type Dialect, simulatedModel } from '../conformance/model.ts'
import { GEMINI_MODEL, geminiEnv } from '../programs/gemini.ts'
import { program } from '../programs/programs.ts'

const dialect: Dialect = {
  tool(call) {
    if ('own' in call) return { [`mcp_pcc_*_${call.own}`]: call.input }
    if ('run' in call) return { run_shell_command: { command: call.run } }
    if ('write' in call) return { write_file: { file_path: `{{cwd}}/${call.write}`, content: call.content } }
    if ('delegate' in call) return { generalist: { request: call.delegate } }
    if ('plan' in call) {
      const status = { pending: 'pending', active: 'in_progress', done: 'completed' }
      return {
        write_todos: { todos: call.plan.map(({ text, state }) => ({ description: text, status: status[state] })) },
      }
    }
    const { question, options, several = false } = call.ask
    const choices = options.map(label => ({ label, description: label }))
    return {
      ask_user: { questions: [{ question, header: 'Choice', type: 'choice', multiSelect: several, options: choices }] },
    }
  },
}

/** The real Gemini CLI against the simulator. */
export const gemini: Adapter = {
  manifest: geminiAgent,
  openDriver: (options = {}) =>
    openDriver(geminiAgent, { ...(options.executable === undefined && { command: [program('gemini')] }), ...options }),
  openModel: scripts => simulatedModel(scripts, dialect),
  env: (home, url, login) => geminiEnv(home, url, login === 'none' ? 'none' : 'key'),
  tools: { run: 'Bash', write: 'Write', delegate: 'Agent' },
  open: { model: GEMINI_MODEL },
}
