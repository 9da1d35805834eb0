/** How somebody likes to see something: kept for this tab, on every page that shows it. */
import { useState } from 'react'

const prefix = 'berth-look '

/** A setting that is on or off, with this name; off at first. */
export function useLook(name: string): [isOn: boolean, turn: (isOn: boolean) => void] {
  const key = prefix + name
  const [isOn, setIsOn] = useState(() => sessionStorage.getItem(key) !== null)
  return [
    isOn,
    (isWanted) => {
      setIsOn(isWanted)
      if (!isWanted) return sessionStorage.removeItem(key)
      try {
        sessionStorage.setItem(key, '')
      } catch {
        // the browser keeps no more for this tab: it is on until the page is left
      }
    },
  ]
}
