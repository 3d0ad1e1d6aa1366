import { AppError } from '../../base/errors.ts'
import { shellWord } from '../../base/shell-word.ts'
import type { StartSession } from '../../domain/api.ts'
import type { Driver } from '../../domain/session.ts'

/** Refuses what cannot be the id of a conversation, before anything is started for it. */
export function checkResume({ resume, project }: StartSession, driver: Driver): void {
  if (!resume || driver.isVendorId?.(resume.vendor_id) !== false) return
  throw new AppError('resume_invalid', { vendor_id: resume.vendor_id, project: shellWord(project) })
}
