import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { type AppPaths, appPathsFor } from '../../../src/base/app-paths.ts'
import { tempDir } from '../../support/world.ts'

/** A home of the test's own with a user file and, when given, a project file. */
export interface ConfigFiles {
  home: string
  project: string
  env: Record<string, string>
  paths: AppPaths
}

export function writeConfigFiles(t: TestContext, texts: { user?: string; project?: string } = {}): ConfigFiles {
  const home = tempDir(t, 'pcc-home-')
  const project = join(home, 'code', 'shop')
  mkdirSync(project, { recursive: true })
  const env = { HOME: home }
  const paths = appPathsFor({ env })
  if (texts.user !== undefined) writeText(paths.configFile, texts.user)
  if (texts.project !== undefined) writeText(join(project, '.perpetualcc.toml'), texts.project)
  return { home, project, env, paths }
}

export function writeText(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
