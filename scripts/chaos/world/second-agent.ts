import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

// An agent of another kind, which speaks ACP and follows its plan: it runs the tools of its task one after the other, and asks
// before each. A tool that the ledger lists as done is not run again. Argument: the file of the plan.

/** The steps for each task, by the text of the task. */
export type SecondPlan = Record<string, { token: string; command: string }[]>

interface Message {
  id?: number | string
  method?: string
  params?: { prompt?: { text?: string }[] }
  result?: { outcome?: { outcome?: string; optionId?: string } }
}

const SESSION = 'second-1'
const answers = new Map<number | string, (message: Message) => void>()
let asked = 0
let isCancelled = false
let tool: ChildProcess | undefined

if (import.meta.main) {
  const plan = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as SecondPlan
  for await (const line of createInterface({ input: process.stdin })) void hear(JSON.parse(line) as Message, plan)
}

async function hear(message: Message, plan: SecondPlan): Promise<void> {
  const { id, method } = message
  if (method === undefined) return answers.get(id ?? '')?.(message)
  if (method === 'session/cancel') {
    isCancelled = true
    tool?.kill('SIGKILL')
  }
  if (id === undefined) return
  switch (method) {
    case 'initialize':
      return send({ id, result: { protocolVersion: 1, agentInfo: { name: 'second', version: '1' } } })
    case 'session/new':
      return send({ id, result: { sessionId: SESSION } })
    case 'session/prompt':
      isCancelled = false
      return send({ id, result: { stopReason: await work(message, plan) } })
    default:
      return send({ id, result: {} })
  }
}

async function work({ params }: Message, plan: SecondPlan): Promise<'end_turn' | 'cancelled'> {
  const told = (params?.prompt ?? []).map(({ text }) => text ?? '').join('\n')
  const [task, steps] = Object.entries(plan).find(([text]) => told.includes(text)) ?? ['', []]
  for (const step of steps) {
    if (isCancelled) return 'cancelled'
    if (!isDone(step.token) && (await isAllowed(step))) await run(step)
  }
  if (isCancelled) return 'cancelled'
  update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: `All of it is complete: ${task}` } })
  return 'end_turn'
}

function isDone(token: string): boolean {
  return readFileSync('ledger', 'utf8').includes(`end ${token} `)
}

async function isAllowed({ token, command }: SecondPlan[string][number]): Promise<boolean> {
  const toolCall = { toolCallId: token, title: command, kind: 'execute', rawInput: { command } }
  update({ sessionUpdate: 'tool_call', ...toolCall, status: 'pending' })
  const options = [
    { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
    { optionId: 'no', name: 'No', kind: 'reject_once' },
  ]
  const { result } = await ask('session/request_permission', { toolCall, options })
  return result?.outcome?.outcome === 'selected' && result.outcome.optionId === 'yes'
}

async function run({ token, command }: SecondPlan[string][number]): Promise<void> {
  const ended = Promise.withResolvers<number | null>()
  tool = spawn('sh', ['-c', command], { stdio: ['ignore', 'ignore', 'ignore'] }).once('close', ended.resolve)
  const status = (await ended.promise) === 0 ? 'completed' : 'failed'
  update({ sessionUpdate: 'tool_call_update', toolCallId: token, status })
}

function ask(method: string, params: object): Promise<Message> {
  asked++
  const { promise, resolve } = Promise.withResolvers<Message>()
  answers.set(asked, resolve)
  send({ id: asked, method, params: { sessionId: SESSION, ...params } })
  return promise
}

function update(one: object): void {
  send({ method: 'session/update', params: { sessionId: SESSION, update: one } })
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}
