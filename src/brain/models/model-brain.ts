import * as z from 'zod'
import type { Brain, Opinion } from '../../domain/brain/brain.ts'
import { notConfident } from '../opinion.ts'
import { type Model, ModelFailure } from './model.ts'
import { answerPrompt, isShownWhole, type Prompt, permissionPrompt, repairPrompt, summaryPrompt } from './prompt.ts'
import { AnswersReply, PermissionReply, readAnswers, SummaryReply } from './replies.ts'

/** A text longer than this is no summary. */
const LONGEST_SUMMARY = 4_000

/**
 * A brain over a language model. What it replies is checked; a reply that cannot be used is asked for once more, with what
 * was wrong. It throws when there is still none: `guarded` counts that and makes it "not confident".
 */
export function modelBrain(name: string, model: Model): Brain {
  async function ask<S extends Judged, T>(
    asked: { prompt: Prompt; shape: z.ZodType<S>; signal: AbortSignal },
    read: (reply: S) => Read<T>,
  ): Promise<Opinion<T>> {
    const { shape, signal } = asked
    let prompt = asked.prompt
    for (let repaired = false; ; repaired = true) {
      const reply = await model({ ...prompt, shape, signal })
      if ('refused' in reply) return notConfident(name, `${name} refused: ${reply.refused}`)
      const checked = checkedReply(reply.text, shape)
      const result = 'problem' in checked ? checked : read(checked.reply)
      if ('value' in result && 'reply' in checked) return opinionOf(name, result.value, checked.reply)
      const problem = 'problem' in result ? result.problem : 'it is not what was asked for'
      if (repaired) throw new ModelFailure(`its reply could not be used, twice: ${problem}`)
      prompt = repairPrompt(asked.prompt, reply.text, problem)
    }
  }

  return {
    name,
    answerQuestion: (questions, context, signal) =>
      ask({ prompt: answerPrompt(questions, context), shape: AnswersReply, signal }, reply =>
        reply.answers.length === 0 ? { value: undefined } : readAnswers(reply, questions),
      ),
    async evaluatePermission(request, context, signal) {
      // Not asked, so that nothing in the request can talk it round.
      if (request.risk === 'HIGH') return notConfident(name, 'a request of HIGH risk is for a person to decide')
      if (!isShownWhole(request)) return notConfident(name, 'the call is too long to be shown whole to a model')
      return ask({ prompt: permissionPrompt(request, context), shape: PermissionReply, signal }, reply => ({
        value: reply.approve,
      }))
    },
    summarize: (text, context, signal) =>
      ask({ prompt: summaryPrompt(text, context), shape: SummaryReply, signal }, reply => {
        const value = reply.summary.trim()
        if (value === '') return { problem: 'the summary is empty' }
        return value.length > LONGEST_SUMMARY ? { problem: 'the summary is far too long' } : { value }
      }),
  }
}

interface Judged {
  confidence: number
  reasoning: string
}

type Read<T> = { value: T | undefined } | { problem: string }

function opinionOf<T>(by: string, value: T | undefined, { confidence, reasoning }: Judged): Opinion<T> {
  const said = reasoning.trim().slice(0, 500)
  return value === undefined || confidence === 0
    ? notConfident(by, said || `${by} could not tell`)
    : { value, confidence, reasoning: said, by }
}

function checkedReply<S extends Judged>(text: string, shape: z.ZodType<S>): { reply: S } | { problem: string } {
  const json = parsed(text)
  if (json === undefined) return { problem: 'it is not a JSON object' }
  const result = shape.safeParse(json)
  if (!result.success) return { problem: z.prettifyError(result.error) }
  const { confidence } = result.data
  return confidence >= 0 && confidence <= 1 ? { reply: result.data } : { problem: '"confidence" is not from 0 to 1' }
}

/** Models wrap JSON in a code block, and some think aloud before it, even when told not to. */
function parsed(text: string): unknown {
  const bare = text.replace(/^[\s\S]*<\/think>/, '').trim()
  const block = /^```(?:json)?\s*\n([\s\S]*?)\n?```$/.exec(bare)?.[1] ?? bare
  try {
    return JSON.parse(block)
  } catch {
    return undefined
  }
}
