import { join } from 'node:path'
import type { AppPaths } from '../../base/app-paths.ts'
import { messageOf } from '../../base/errors.ts'
import { readProviders } from '../../brain/embedder.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { fillSecrets, type SecretReader } from '../../domain/config/secret-references.ts'
import { findRule, type PolicyRule } from '../../policy/verdict/rules.ts'
import type { Policy, SessionPolicy } from '../session/context.ts'
import type { EmbeddingSetup } from './code-search.ts'

/**
 * Reads it from the person's own settings. The project's file is read without trust, so it can switch embeddings off and never choose where its code is
 * sent. Never throws: without embeddings, search works.
 */
export async function readEmbedding(
  project: string,
  {
    paths,
    env,
    policy,
    secrets,
  }: { paths: AppPaths; env: Record<string, string | undefined>; policy: Policy; secrets: SecretReader },
): Promise<EmbeddingSetup> {
  const home = env['HOME'] ?? paths.home
  try {
    const { config } = await loadConfig({ paths, env, project })
    const { rules } = await policy.loadRules({ paths, project })
    return { ...readProviders(await fillSecrets(config, secrets), env), rules, home }
  } catch (error) {
    return { problem: messageOf(error), rules: [], home }
  }
}

type ReadPolicy = Pick<SessionPolicy, 'project' | 'home'> &
  Partial<Pick<SessionPolicy, 'worktree' | 'safeDirectories'>> & { rules: readonly PolicyRule[] }

/** Whether a file may be read without asking, as an agent would read it. */
export async function mayReadFile(path: string, policy: ReadPolicy, classify: Policy['classify']): Promise<boolean> {
  const { project, home, worktree, safeDirectories } = policy
  const input = { file_path: join(project, path) }
  const assessment = await classify({
    tool: 'Read',
    input,
    project,
    home,
    worktree,
    ...(safeDirectories && { safeDirectories }),
  })
  const rule = findRule('Read', assessment, policy.rules)
  return rule ? rule.effect === 'allow' : assessment.risk === 'LOW'
}
