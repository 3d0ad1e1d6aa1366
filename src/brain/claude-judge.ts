import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Options, SDKResultMessage } from '@anthropic-ai/claude-agent-sdk'
import * as z from 'zod'
import { messageOf } from '../base/errors.ts'
import { type GuardedChild, openGuard } from '../base/process/guardian.ts'
import type { Isolation } from '../base/process/isolation.ts'
import { sessionMarker } from '../base/process/marker.ts'
import { redactText } from '../base/redact.ts'
import type { ModelUse } from '../domain/brain.ts'
import { type Model, type ModelAsk, ModelFailure, type ModelReply } from './model-brain.ts'

export interface ClaudeJudge {
  model: string
  /** The whole environment: an allow-list made by the caller. */
  env: Record<string, string>
  /** The claude program, if it is not the bundled one. */
  executable?: string | undefined
  isolation: Isolation
}

/**
 * Claude Code as a judge that can only reply: it has no tools and no settings files, hence no hooks and no servers, and a folder
 * of its own. So the text that it judges cannot make it act or ask.
 */
export function claudeJudge({ model, env, executable, isolation }: ClaudeJudge): Model {
  const guard = openGuard()
  return async ask => {
    const cwd = await mkdtemp(join(tmpdir(), `pcc-judge-${process.pid}-`))
    let child: GuardedChild | undefined
    let stderr = ''
    const options: Options = {
      ...HARMLESS,
      cwd,
      env: { ...env, ...OWN_VARIABLES },
      model,
      systemPrompt: ask.instructions,
      outputFormat: { type: 'json_schema', schema: jsonSchema(ask.shape) },
      spawnClaudeCodeProcess: ({ command, args, cwd, env, signal }) => {
        child = guard.spawn({ command, args, cwd, env, marker: sessionMarker(`judge-${randomUUID()}`) }, isolation)
        child.stderr.setEncoding('utf8').on('data', (text: string) => {
          stderr = (stderr + text).slice(-STDERR_CHARS)
        })
        child.stdin.on('error', () => undefined) // it died: the missing result is reported
        child.on('error', () => undefined)
        signal.addEventListener('abort', () => void child?.end(), { once: true })
        return child
      },
      ...(executable !== undefined && { pathToClaudeCodeExecutable: executable }),
    }
    try {
      return await requestReply(ask, options)
    } catch (error) {
      if (ask.signal.aborted) throw error
      throw new ModelFailure(describeProblem(`${messageOf(error)}\n${stderr}`), { cause: error })
    } finally {
      await child?.end()
      await rm(cwd, { recursive: true, force: true, maxRetries: 3 })
    }
  }
}

const STDERR_CHARS = 2_000
const LONGEST_PROBLEM = 300

const HARMLESS = {
  tools: [],
  settingSources: [],
  strictMcpConfig: true,
  permissionMode: 'dontAsk',
  permissionPrompts: 'none',
  persistSession: false,
  // One reply: the brain itself retries, and it also knows the labels.
  maxTurns: 1,
} satisfies Options

const OWN_VARIABLES = {
  /** A judge that waits out a limit is of no use: the next brain or a person answers sooner. */
  CLAUDE_CODE_MAX_RETRIES: '1',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  /** `@path` in the judged text would be read into the prompt. */
  CLAUDE_CODE_DISABLE_FILE_MENTIONS: '1',
  CLAUDE_CODE_STARTUP_FAILURE_RESULTS: '1',
  DISABLE_AUTOUPDATER: '1',
}

async function requestReply({ prompt, signal }: ModelAsk, options: Options): Promise<ModelReply> {
  const { query } = await import('@anthropic-ai/claude-agent-sdk')
  const abortController = new AbortController()
  const abort = () => abortController.abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    signal.throwIfAborted()
    for await (const message of query({ prompt: asText(prompt), options: { ...options, abortController } }))
      if (message.type === 'result') return { ...readResult(message), used: usedBy(message, options.model ?? '') }
  } finally {
    signal.removeEventListener('abort', abort)
    abort()
  }
  throw new ModelFailure('Claude Code ended without a result')
}

function usedBy({ usage, total_cost_usd }: SDKResultMessage, model: string): ModelUse {
  return {
    ...{ model, costUsd: total_cost_usd, inputTokens: usage.input_tokens, outputTokens: usage.output_tokens },
    ...{ cacheWriteTokens: usage.cache_creation_input_tokens, cacheReadTokens: usage.cache_read_input_tokens },
  }
}

/** The vendor reports `success` for an API error too, and `structured_output` may be absent. */
function readResult(result: SDKResultMessage): ModelReply {
  if (result.stop_reason === 'refusal') return { refused: 'it declined to judge this' }
  if (result.subtype === 'success' && !result.is_error) {
    return { text: result.structured_output === undefined ? result.result : JSON.stringify(result.structured_output) }
  }
  // It replied in another shape than requested, and its only turn is over.
  if (result.subtype === 'error_max_turns') return { text: '' }
  const problem = result.subtype === 'success' ? result.result : result.errors.join('; ')
  throw new ModelFailure(problem || `Claude Code gave up: ${result.subtype}`)
}

function describeProblem(problem: string): string {
  return redactText(problem.trim()).replace(/\s+/g, ' ').slice(0, LONGEST_PROBLEM)
}

/**
 * Escapes what Claude Code would not read as text: a slash at the beginning is a command, and `@name` a mention, which it
 * repeats to the model outside of our fence.
 */
function asText(prompt: string): string {
  return prompt.replace(/^\//, '\n/').replace(/(?<!\S)(["'(<[{]*)@(?=\S)/g, '$1@ ')
}

/** Claude Code refuses a schema that names a later draft than the seventh. */
function jsonSchema(shape: z.ZodType): Record<string, unknown> {
  return z.toJSONSchema(shape, { target: 'draft-7' })
}
