import { openDriver } from '../../../src/agents/open.ts'
import { copilotAgent } from '../../../src/domain/agents/copilot.ts'
import type { Adapter } from '../conformance/adapter.ts'
import { type Dialect, simulatedModel } from '../conformance/model.ts'
import { copilotEnv } from '../programs/copilot.ts'
import { program } from '../programs/programs.ts'

const dialect: Dialect = {
  tool(call) {
    if ('own' in call) return { [`pcc_*-${call.own}`]: call.input }
    // It reads files unasked with a tool of its own, and asks about every command.
    if ('run' in call && call.run === 'cat README.md') return { view: { path: '{{cwd}}/README.md' } }
    if ('run' in call) return { bash: { command: call.run, description: 'runs a command' } }
    if ('write' in call) return { create: { path: `{{cwd}}/${call.write}`, file_text: call.content } }
    if ('delegate' in call)
      return { task: { name: 'helper', agent_type: 'general-purpose', description: 'helps', prompt: call.delegate } }
    if ('plan' in call) return { update_todo: { todos: call.plan.map(({ text }) => `- [ ] ${text}`).join('\n') } }
    return { ask_user: { question: call.ask.question, choices: call.ask.options } }
  },
}

/** The real Copilot CLI against the simulator, with a model of one's own. */
export const copilot: Adapter = {
  manifest: copilotAgent,
  openDriver: (options = {}) =>
    openDriver(copilotAgent, {
      ...(options.executable === undefined && { command: [program('copilot')] }),
      ...options,
    }),
  openModel: scripts => simulatedModel(scripts, dialect),
  env: (home, url, login) => copilotEnv(home, url, login === 'none' ? 'none' : 'key'),
  tools: { run: 'Bash', write: 'Write', delegate: 'Agent' },
}
