import { openSimulator, type Simulator } from '../../src/simulator/open.ts'
import type { Call, Fault, Model, Script, Step } from './conformance/script.ts'

/** The simulator as a model of the conformance suite: scripts become a scenario of Claude's own tools. */
export async function claudeModel(scripts: Script[]): Promise<Model> {
  let simulator = await openSimulator({ text: scenarioOf(scripts) })
  const { url, port } = simulator
  return {
    url,
    told: () => toldTo(simulator),
    async hears(text) {
      await simulator.waitForRequest(request => JSON.stringify(request.body.messages).includes(text))
    },
    async restart(next = scripts) {
      await simulator.close()
      simulator = await openSimulator({ text: scenarioOf(next), port })
    },
    [Symbol.asyncDispose]: () => simulator.close(),
  }
}

function toldTo(simulator: Simulator): string {
  return simulator.requests.flatMap(request => request.tool_results.map(result => result.text)).join('\n')
}

/** JSON is YAML. */
function scenarioOf(scripts: Script[]): string {
  const conversations = scripts.map(({ prompt, steps, later = [] }) => ({
    match: { contains: prompt },
    turns: steps.map(turnOf),
    ...(later.length > 0 && {
      later: later.map(one => ({ match: { contains: one.prompt }, turns: one.steps.map(turnOf) })),
    }),
  }))
  return JSON.stringify({ conversations })
}

function turnOf({ say, think, calls, fault, delayMs }: Step) {
  return {
    ...(say !== undefined && { text: say }),
    ...(think !== undefined && { thinking: think }),
    ...(calls && { tools: calls.map(toolOf) }),
    ...(fault && { fault: faultOf(fault) }),
    ...(delayMs !== undefined && { latency: delayMs }),
  }
}

function toolOf(call: Call) {
  if ('run' in call) return { Bash: { command: call.run, description: 'runs a command' } }
  if ('write' in call) return { Write: { file_path: `{{cwd}}/${call.write}`, content: call.content } }
  if ('delegate' in call) {
    return { Agent: { description: 'helps', prompt: call.delegate, subagent_type: call.to ?? 'general-purpose' } }
  }
  if ('plan' in call) {
    const status = { pending: 'pending', active: 'in_progress', done: 'completed' }
    return {
      TodoWrite: {
        todos: call.plan.map(({ text, state }) => ({ content: text, status: status[state], activeForm: text })),
      },
    }
  }
  const { question, options, several = false } = call.ask
  const choices = options.map(label => ({ label, description: label }))
  return { AskUserQuestion: { questions: [{ question, header: 'Choice', multiSelect: several, options: choices }] } }
}

const FAULTS = {
  overloaded: 'overloaded',
  server: 'server_error',
  auth: 'unauthorized',
  reset: 'reset',
  prompt_too_long: 'prompt_too_long',
  model_not_found: 'model_not_found',
  billing: 'credit_too_low',
} as const

function faultOf(fault: Fault) {
  return fault.kind === 'limit' ? { kind: 'limit', resets: fault.resets } : { kind: FAULTS[fault.kind] }
}
