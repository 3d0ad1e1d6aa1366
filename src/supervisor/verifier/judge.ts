import { AppError, messageOf } from '../../base/errors.ts'
import type { VerifierMaterial, VerifierOpinion } from '../../domain/workspace/landing/opinion.ts'
import type { ModelNames } from '../models/model-names.ts'
import type { AgentRequest } from '../proposals/ask-agent.ts'
import type { Proposals } from '../proposals/proposals.ts'
import { verifierPrompt } from './prompt.ts'
import { type ReadOpinion, readOpinion } from './read-opinion.ts'
import { verifierModel } from './verifier-model.ts'

export interface JudgeParts {
  ask: Proposals['ask']
  /** One name for everything that lies in a directory, whether it is committed or not; nothing where nobody can tell. */
  stateOf(directory: string): Promise<string | undefined>
}

/** Whose work is judged, and under whose settings. */
export interface Judging {
  request: AgentRequest
  names: ModelNames
  /** The account is shut: there is no opinion now, and later there may be. */
  shut(error: AppError): void
}

/**
 * An agent that reads what another one did and says whether it holds. It has no tool that writes, and what it looked at must be the
 * same before and after it; whatever else comes of it, an opinion that cannot be used is `broken`. Never throws.
 */
export function judgeWith({ ask, stateOf }: JudgeParts, { request, names, shut }: Judging) {
  return async (material: VerifierMaterial, signal: AbortSignal): Promise<VerifierOpinion> => {
    const { directory, task, diff, size } = material
    const { model } = verifierModel({ ...size, paths: pathsIn(diff) }, names)
    try {
      const before = await stateOf(directory)
      if (before === undefined) return broken('nobody can tell whether what it judges stays as it is', UNSPENT)
      const question = {
        prompt: verifierPrompt(material),
        read: async (text: string) => readOpinion(text, task.acceptance),
      }
      const reply = await ask<ReadOpinion>({ ...request, model }, question, signal)
      const spent = { model: reply.model ?? model ?? null, cost_usd: reply.cost_usd }
      if ((await stateOf(directory)) !== before) return broken('what it judged was changed meanwhile', spent)
      return { ...reply.value, ...spent }
    } catch (error) {
      if (error instanceof AppError && error.code === 'account_limited') shut(error)
      return broken(messageOf(error), { model: model ?? null, cost_usd: 0 })
    }
  }
}

const UNSPENT = { model: null, cost_usd: 0 }

function broken(why: string, spent: Pick<VerifierOpinion, 'model' | 'cost_usd'>): VerifierOpinion {
  return { status: 'broken', criteria: [], remarks: `The verifier gave no opinion: ${why}`, ...spent }
}

/** The files that a diff names, as far as it was not cut. */
function pathsIn(diff: string): string[] {
  return [...diff.matchAll(/^(?:\+\+\+ b|--- a)\/(.+)$/gm)].flatMap(([, path]) => path ?? [])
}
