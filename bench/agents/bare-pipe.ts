import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

type Params = Record<string, unknown>

export interface BarePipe {
  ask(method: string, params: object): Promise<Params>
  tell(method: string): void
  end(): void
}

interface Started {
  command: string
  args: string[]
  cwd: string
  env: Record<string, string>
  /** Answers a request of the agent. */
  answer(method: string, params: Params): object | undefined
  told?(method: string, params: Params): void
}

/** JSON-RPC with an agent, one message per line, and nothing else: no checks, no recording, no guard. */
export function barePipe({ command, args, cwd, env, answer, told }: Started): BarePipe {
  const child = spawn(command, args, { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] })
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const waiting = new Map<number, (result: Params) => void>()
  createInterface({ input: child.stdout }).on('line', line => {
    if (!line.startsWith('{')) return
    const { id, method, params, result } = JSON.parse(line)
    if (method === undefined) waiting.get(id)?.(result ?? {})
    else if (id === undefined) told?.(method, params)
    else send({ id, result: answer(method, params) ?? {} })
  })
  let last = 0
  return {
    ask(method, params) {
      last += 1
      const { promise, resolve } = Promise.withResolvers<Params>()
      waiting.set(last, resolve)
      send({ id: last, method, params })
      return promise
    },
    tell: method => void send({ method }),
    end: () => void child.kill('SIGKILL'),
  }
}
