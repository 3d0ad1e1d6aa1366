import { openSimulator, type Simulator } from '../../../src/simulator/open.ts'
import type { Call, Fault, Model, Script, Step } from './script.ts'

/** The names of an agent's own tools, and its extra requests to its model. */
export interface Dialect {
  tool(call: Call): Record<string, unknown>
  /** Conversations that the agent has with its model by itself. */
  aside?: unknown[]
  /** How long the model takes for every answer. */
  thinksMs?: number
}

/** The simulator as a model of the conformance suite: scripts become a scenario of the agent's own tools. */
export async function simulatedModel(scripts: Script[], dialect: Dialect): Promise<Model> {
  let played = scripts
  let simulator = await openSimulator({ text: scenarioOf(played, dialect) })
  const { url, port } = simulator
  return {
    url,
    told: () => toldTo(simulator),
    requests: () => simulator.requests.length,
    async hears(text) {
      await simulator.waitForRequest(
        request => JSON.stringify(request.body.messages).includes(text),
        AbortSignal.timeout(90_000),
      )
    },
    async restart(next = played) {
      played = next
      await simulator.close()
      simulator = await openSimulator({ text: scenarioOf(played, dialect), port })
    },
    [Symbol.asyncDispose]: () => simulator.close(),
  }
}

function toldTo(simulator: Simulator): string {
  return simulator.requests.flatMap(request => request.tool_results.map(result => result.text)).join('\n')
}

/** JSON is YAML. */
function scenarioOf(scripts: Script[], dialect: Dialect): string {
  const conversations = scripts.map(({ prompt, steps, later = [] }) => ({
    match: { contains: prompt },
    turns: steps.map(step => turnOf(step, dialect)),
    ...(later.length > 0 && {
      later: later.map(one => ({
        match: { contains: one.prompt },
        turns: one.steps.map(step => turnOf(step, dialect)),
      })),
    }),
  }))
  const { aside = [], thinksMs } = dialect
  return JSON.stringify({
    ...(thinksMs !== undefined && { defaults: { latency: thinksMs } }),
    conversations: [...aside, ...conversations],
  })
}

function turnOf({ say, think, calls, fault, delayMs }: Step, { tool }: Dialect) {
  return {
    ...(say !== undefined && { text: say }),
    ...(think !== undefined && { thinking: think }),
    ...(calls && { tools: calls.map(tool) }),
    ...(fault && { fault: faultOf(fault) }),
    ...(delayMs !== undefined && { latency: delayMs }),
  }
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
  if (fault.kind === 'limit') return { kind: 'limit', resets: fault.resets }
  return fault.kind === 'rate'
    ? { kind: 'rate_limit', retry_after: fault.seconds ?? 3600 }
    : { kind: FAULTS[fault.kind] }
}
