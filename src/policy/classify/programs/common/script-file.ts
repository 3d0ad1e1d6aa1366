import type { Risk } from '../../../../domain/session.ts'
import { placeOf } from '../../../paths/place.ts'
import type { Call } from '../../call.ts'
import type { Arg } from '../../words/arg.ts'

/** A file whose content is run: the project's own is everyday, any other is foreign code. */
export function judgeScriptFile(call: Call, file: Arg, own: Risk = 'MEDIUM'): undefined {
  if (!file.known || file.glob || file.value === '-')
    return call.say('script.unknown', 'HIGH', `${file.text} is a program known only when it runs`, file)
  call.secret(file)
  if (/^[a-z]+:\/\//i.test(file.value))
    return call.say('net.run', 'HIGH', `${file.text} is code from the network`, file)
  const { cwd } = call.scope
  const place =
    cwd === undefined && !file.value.startsWith('/')
      ? undefined
      : placeOf(file.value, cwd ?? call.fence.boundary, call.fence)
  if (place?.where === 'inside')
    return call.say('script.project', own, `${file.text} is a program of the project`, file)
  call.say('script.foreign', 'HIGH', `${file.text} is a program outside the project`, file)
}
