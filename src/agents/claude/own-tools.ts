import { createSdkMcpServer, type Options, tool } from '@anthropic-ai/claude-agent-sdk'
import { AGENT_TOOLS, type AgentToolName, type ToolReply } from '../../domain/agent-tools.ts'
import { OWN_SERVER } from '../../domain/own-server.ts'
import type { CheckedAsks } from '../checked-asks.ts'

/**
 * Our tools as a server within this process. It is created before its session is known, like the agent's process; a call that
 * comes before a session has taken it does nothing. The vendor reports it to the hook as the host's own (`source: sdk`), which
 * no server from a settings file can be.
 */
export class ClaudeOwnTools {
  readonly #names: readonly AgentToolName[]
  readonly #loaded: boolean
  readonly #answers = new Map<string, string>()
  #asks: CheckedAsks | undefined

  /**
   * `loaded`: every request to the model describes all tools. Otherwise it has their names, and the agent looks up what it wants to use
   * with `ToolSearch`.
   */
  constructor(names: readonly AgentToolName[], { loaded = false } = {}) {
    this.#names = names
    this.#loaded = loaded
  }

  bind(asks: CheckedAsks): void {
    this.#asks = asks
  }

  /** Unbinds the tools from a session that leaves the process to the next one. */
  release(): void {
    this.#asks = undefined
    this.#answers.clear()
  }

  /** Keeps a person's answer to a question for the call that asked it, which runs next. */
  answered(question: string, answer: string): void {
    this.#answers.set(question, answer)
  }

  options(): Pick<Options, 'mcpServers'> {
    if (this.#names.length === 0) return {}
    const tools = this.#names.map(name => {
      const { description, shape } = AGENT_TOOLS[name]
      return tool(name, description, shape, async input => toToolResult(await this.#call(name, input)))
    })
    return { mcpServers: { [OWN_SERVER]: createSdkMcpServer({ name: OWN_SERVER, tools, alwaysLoad: this.#loaded }) } }
  }

  async #call(name: AgentToolName, input: Record<string, unknown>): Promise<ToolReply> {
    if (name === 'ask_human') return this.#answer(String(input['question']))
    const reply = await this.#asks?.tool(name, input, NEVER)
    return reply ?? { ok: false, text: 'Not done: nobody is there yet. Try it again.' }
  }

  #answer(question: string): ToolReply {
    const answer = this.#answers.get(question)
    this.#answers.delete(question)
    if (answer === undefined)
      return { ok: false, text: 'Nobody answered. Decide by yourself and say what you assumed.' }
    return { ok: true, text: answer }
  }
}

/** Asks have a deadline of their own (`checkedAsks`). */
const NEVER = new AbortController().signal

function toToolResult({ ok, text }: ToolReply) {
  return { content: [{ type: 'text' as const, text }], isError: !ok }
}
