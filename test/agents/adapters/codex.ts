import { openDriver } from '../../../src/agents/open.ts'
import { codexAgent } from '../../../src/domain/agents/codex.ts'
import type { Adapter } from '../conformance/adapter.ts'
import { type Dialect, simulatedModel } from '../conformance/model.ts'
import { codexEnv } from '../programs/codex.ts'
import { program } from '../programs/programs.ts'

const dialect: Dialect = {
  tool(call) {
    if ('own' in call) return { [`mcp__pcc__${call.own}`]: call.input }
    if ('run' in call) return { exec_command: { cmd: call.run } }
    if ('write' in call) {
      const lines = call.content.split('\n').map(line => `+${line}`)
      const patch = ['*** Begin Patch', `*** Add File: ${call.write}`, ...lines, '*** End Patch']
      return { apply_patch: { input: patch.join('\n') } }
    }
    if ('delegate' in call) return { spawn_agent: { message: call.delegate } }
    if ('plan' in call) {
      const status = { pending: 'pending', active: 'in_progress', done: 'completed' }
      return { update_plan: { plan: call.plan.map(({ text, state }) => ({ step: text, status: status[state] })) } }
    }
    const { question, options } = call.ask
    const choices = options.map(label => ({ label, description: label }))
    return { request_user_input: { questions: [{ id: 'choice', question, header: 'Choice', options: choices }] } }
  },
}

/** The real Codex against the simulator. */
export const codex: Adapter = {
  manifest: codexAgent,
  openDriver: (options = {}) =>
    openDriver(codexAgent, { ...(options.executable === undefined && { command: [program('codex')] }), ...options }),
  openModel: scripts => simulatedModel(scripts, dialect),
  env: (home, url, login) => codexEnv(home, url, login === 'none' ? 'none' : 'key'),
  tools: { run: 'Bash', write: 'Write', delegate: 'Agent' },
}
