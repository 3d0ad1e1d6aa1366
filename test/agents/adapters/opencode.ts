import { openDriver } from '../../../src/agents/open.ts'
import { opencodeAgent } from '../../../src/domain/agents/opencode.ts'
import type { Adapter } from '../conformance/adapter.ts'
import { type Dialect, simulatedModel } from '../conformance/model.ts'
import { opencodeEnv } from '../programs/opencode.ts'
import { program } from '../programs/programs.ts'

const dialect: Dialect = {
  tool(call) {
    if ('own' in call) return { [`pcc_*_${call.own}`]: call.input }
    if ('run' in call) return { bash: { command: call.run, description: 'runs a command' } }
    if ('write' in call) return { write: { filePath: `{{cwd}}/${call.write}`, content: call.content } }
    if ('delegate' in call)
      return { task: { description: 'helps', prompt: call.delegate, subagent_type: call.to ?? 'general' } }
    if ('plan' in call) {
      const status = { pending: 'pending', active: 'in_progress', done: 'completed' }
      const todos = call.plan.map(({ text, state }, at) => ({
        content: text,
        status: status[state],
        priority: 'medium',
        id: String(at),
      }))
      return { todowrite: { todos } }
    }
    const { question, options, several = false } = call.ask
    const choices = options.map(label => ({ label, description: label }))
    return { question: { questions: [{ question, header: 'Choice', multiple: several, options: choices }] } }
  },
  aside: [{ name: 'title', match: 'Generate a title', turns: [{ text: 'A title' }], otherwise: { text: 'A title' } }],
}

/** The real opencode against the simulator. */
export const opencode: Adapter = {
  manifest: opencodeAgent,
  openDriver: (options = {}) =>
    openDriver(opencodeAgent, {
      ...(options.executable === undefined && { command: [program('opencode')] }),
      ...options,
    }),
  openModel: scripts => simulatedModel(scripts, dialect),
  env: (home, url, login) => opencodeEnv(home, url, login === 'none' ? 'none' : 'key'),
  kinds: { overloaded: 'silent', server: 'silent', reset: 'silent' },
  firstTurn: ['prompt_too_long'],
  tools: { run: 'Bash', write: 'Write', delegate: 'Agent' },
}
