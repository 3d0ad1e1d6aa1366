import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { shellWord } from '../../base/shell-word.ts'
import type { DocumentKind } from '../../domain/features/document.ts'
import type { FeatureView } from '../../domain/features/feature.ts'
import { openClient } from '../client.ts'
import type { Context } from '../context.ts'
import { isInteractive } from '../live/interactive.ts'
import { featurePath } from './path.ts'

/** `pcc feature edit`: the file in the person's editor, or its path where there is no terminal. */
export async function editFeature(
  name: string,
  { project = '.', kind }: { project?: string | undefined; kind: DocumentKind },
  context: Context,
): Promise<void> {
  const client = await openClient(context.places, context)
  const feature = await client.request<FeatureView>('GET', featurePath({ project: resolve(project), name }))
  const { path, exists } = feature[kind]
  if (!exists) throw new AppError('feature_file', { path, problem: `there is no ${kind} yet` })
  if (isInteractive(context)) return openInEditor(path, context)
  context.out(context.json ? JSON.stringify({ path }) : path)
}

/** Opens a file in the person's editor and waits until that is closed. */
export async function openInEditor(path: string, { env }: Pick<Context, 'env'>): Promise<void> {
  const editor = env['VISUAL'] || env['EDITOR'] || 'vi'
  // As everybody does it: the setting may hold options.
  const child = spawn('/bin/sh', ['-c', `${editor} ${shellWord(path)}`], { stdio: 'inherit' })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new AppError('feature_file', { path, problem: `the editor (${editor}) ended with ${code}` })
}
