import assert from 'node:assert/strict'
import { AppError } from '../../../src/base/errors.ts'
import type { Requirements } from '../../../src/domain/brain.ts'
import { parseRequirements } from '../../../src/tasks/requirements/requirements.ts'

/** The texts of the open tasks. */
export function openTexts({ tasks }: Requirements): string[] {
  return tasks.filter(({ done }) => !done).map(({ text }) => text)
}

/** The error with which a file is refused. */
export async function refusedFor(path: string, text: string): Promise<string> {
  try {
    await parseRequirements(path, text)
  } catch (error) {
    assert.ok(error instanceof AppError && /^requirements_(wrong|cycle)$/.test(error.code), String(error))
    return error.message
  }
  assert.fail('it was taken')
}
